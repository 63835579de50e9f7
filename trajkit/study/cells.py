"""Cells by their names: ``<model>[-<condition>][-published]-<regime>[-what else]``, e.g. ``diffusion-gaussian-private-d_out-4``.

Model: a deep generator, a classical synthesizer (always ``private``, e.g. ``privtrace-private-epsilon-1.0``), an anonymizer (always
``syntactic``, e.g. ``k_anonymity-syntactic-k-10``) or a contrast that protects nobody (always ``plain``, e.g. ``pseudonyms-plain``).
Condition: ``sample`` and ``attributes`` (no mechanism), ``laplace``, ``gaussian`` and ``vmf`` (a sample made private),
``attributes-gaussian`` and its like; none is left out. What else: ``long`` (the model's own budget), ``small`` (a tenth of the
training set), ``n-8000`` (another size), ``init`` (one fold, other seeds), ``epsilon-1.0`` (another epsilon than 10), ``k-10`` (another k than 5),
``epsilon_c-1.0`` and ``d_out-4`` (another condition than the usual), ``map-lattice`` (another road map, or people who leave it), ``timed`` (a release with times), ``tiny`` (many seeds of a small training, for its stability
alone: never rescaled, never in a table of errors). Reports look cells up by name; a study of your own may name its cells as it
likes, and its report leaves out what it cannot find.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

MODELS = {"diffusion": "diffusion model", "vae": "VAE", "gan": "GAN"}
CLASSICAL = {
    "prefix_tree": "noisy prefix tree",
    "privtrace": "PrivTrace",
    "adatrace": "AdaTrace",
    "flat": "flat noisy counts",
    "road_counts": "road counts",
    "private_evolution": "Private Evolution",
}
ANONYMIZERS = {
    "k_anonymity": "k-anonymity",
    "k_delta": "(k, delta)-anonymity",
    "cloaking": "cloaking",
    "lkc": "LKC-privacy",
    "escalation": "escalation (k-anonymity, then made trips)",
}
# published without any promise, for comparison
CONTRASTS = {"pseudonyms": "real trips under new names", "planar_laplace": "noise on every point"}
BASELINES = ("real", "uniform", "straight", "cloud")
MECHANISMS = {"laplace": "Laplace", "gaussian": "Gaussian", "vmf": "VMF"}
CONDITIONS = {
    "attributes": "attributes",
    "sample": "sample",
    **{key: f"sample + {name}" for key, name in MECHANISMS.items()},
    **{f"attributes-{key}": f"attributes + {name}" for key, name in MECHANISMS.items()},
}
CONDITIONAL = {
    f"{model}-{key}": f"conditional {name} ({words})"
    for model, name in MODELS.items()
    for key, words in CONDITIONS.items()
}
# what can be compared and picked: a model, a model with its condition, a classical synthesizer, or an anonymizer
CONTESTANTS = {**MODELS, **CONDITIONAL, **CLASSICAL, **ANONYMIZERS, **CONTRASTS}
_SERIES = re.compile(r"-(epsilon|epsilon_c|d_out|n|init|tiny|map|timed|k)(-|$)")
_TINY = re.compile(r"-tiny(-|$)")
_NAME = re.compile(
    rf"(?P<model>{'|'.join([*MODELS, *CLASSICAL, *ANONYMIZERS, *CONTRASTS])})(-(?P<condition>{'|'.join(sorted(CONDITIONS, key=len, reverse=True))}))?"
    r"(?P<published>-published)?-(?P<regime>plain|clipped|private|syntactic)(-(?P<rest>.+))?"
)


class Name(NamedTuple):
    """The parts of a cell's name; ``condition`` is empty for none, ``rest`` for nothing else."""

    model: str
    condition: str
    published: bool
    regime: str
    rest: str

    @property
    def contestant(self) -> str:
        """The model with its condition: a key of `CONTESTANTS`."""
        return "-".join(filter(None, (self.model, self.condition)))

    @property
    def unconditional(self) -> str:
        """Name of the cell that differs in having no condition."""
        return "-".join(filter(None, (self.model, "published" if self.published else "", self.regime, self.rest)))


def parsed(cell: str) -> Name | None:
    """The parts of the name of ``cell``; None where it is not named by the rule."""
    found = _NAME.fullmatch(cell)
    if found is None:
        return None
    parts = {k: v or "" for k, v in found.groupdict().items()}
    return Name(parts["model"], parts["condition"], bool(parts["published"]), parts["regime"], parts["rest"])


def label(method: str) -> str:
    """Name of a method, or of a method with its condition, in sentences."""
    return CONTESTANTS.get(method, method)


def is_tiny(cell: str) -> bool:
    """Whether the cell is there for its stability alone: sizes of its own, so nothing of it compares with other cells."""
    return bool(_TINY.search(cell))


def core(cells: Iterable[str]) -> list[str]:
    """Cells that stand on their own: no baseline, no member of a series over one setting, none for stability alone."""
    return [c for c in dict.fromkeys(cells) if c not in BASELINES and not _SERIES.search(c)]


def mapped(cells: Iterable[str]) -> list[str]:
    """Core cells on the whole training set that differ to the eye: clipping alone is left out."""
    return [c for c in core(cells) if not c.endswith("-small") and "-clipped" not in c]


def conditional(cells: Iterable[str]) -> list[str]:
    """Core cells on the whole training set that have a condition, published variants left out."""
    named = {c: parsed(c) for c in core(cells)}
    return [c for c, name in named.items() if name and name.condition and not name.published and not name.rest]


def effects(model: str, *, suffix: str = "") -> list[tuple[str, str, str]]:
    """Paired comparisons of the regimes of ``model``: (what, cell a, cell b) for a - b."""
    plain, clipped, private = (f"{model}-{regime}{suffix}" for regime in ("plain", "clipped", "private"))
    return [("clipping", clipped, plain), ("noise", private, clipped), ("DP-SGD in all", private, plain)]
