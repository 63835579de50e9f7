"""Cells by their names: ``<model>[-published]-<regime>[-what else]``, e.g. ``diffusion-plain-long`` or ``gan-published-private``.

What else: ``long`` (the model's own budget), ``small`` (a tenth of the training set), ``n-8000`` (another size), ``init`` (one
fold, other seeds), ``epsilon-1.0`` (another epsilon than 10). Reports look cells up by name; a study of your own may name its
cells as it likes, and its report leaves out what it cannot find.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MODELS = {"diffusion": "diffusion model", "vae": "VAE", "gan": "GAN"}
BASELINES = ("real", "uniform", "straight", "cloud")
_SERIES = re.compile(r"-(epsilon|n|init)(-|$)")


def label(method: str) -> str:
    """Name of a method in sentences."""
    return MODELS.get(method, method)


def core(cells: Iterable[str]) -> list[str]:
    """Cells that stand on their own: no baseline, no member of a series over epsilon, size or initialisation."""
    return [c for c in dict.fromkeys(cells) if c not in BASELINES and not _SERIES.search(c)]


def mapped(cells: Iterable[str]) -> list[str]:
    """Core cells on the whole training set that differ to the eye: clipping alone is left out."""
    return [c for c in core(cells) if not c.endswith("-small") and "-clipped" not in c]


def effects(model: str, *, suffix: str = "") -> list[tuple[str, str, str]]:
    """Paired comparisons of the regimes of ``model``: (what, cell a, cell b) for a - b."""
    plain, clipped, private = (f"{model}-{regime}{suffix}" for regime in ("plain", "clipped", "private"))
    return [("clipping", clipped, plain), ("noise", private, clipped), ("DP-SGD in all", private, plain)]
