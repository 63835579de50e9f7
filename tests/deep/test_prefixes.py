"""A plain training is the beginning of a longer one: going on from it equals training alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from deep_toys import META, SMALL_CONFIG, TINY_CONFIG, toy_trajectories

from trajkit.deep.checkpoint import finalise_checkpoint
from trajkit.errors import CheckpointError
from trajkit.methods import make_method

CONFIGS: dict[str, dict[str, Any]] = {"diffusion": TINY_CONFIG, "vae": SMALL_CONFIG, "gan": SMALL_CONFIG}


def _fit(name: str, steps: int, folder: Path | None = None, shared: Path | None = None, **changes: Any) -> Any:
    train = toy_trajectories()
    train = replace(train, meta=replace(META, visibility=changes.pop("visibility", "public")))
    method = make_method(name, **{**CONFIGS[name], "decay": "constant", **changes, "steps": steps})
    checkpoint = folder / f"{name}-{steps}.pt" if folder else None
    return method.fit(train, seed=2, checkpoint=checkpoint, prefixes=shared)  # type: ignore[call-arg]


def _weights(method: Any) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in method.model_.parameters()])


@pytest.mark.parametrize("name", CONFIGS)
def test_a_longer_training_goes_on_from_a_shorter_one_bit_for_bit(tmp_path: Path, name: str) -> None:
    alone = _fit(name, 9)
    shared = tmp_path / "prefixes"
    short = _fit(name, 4, tmp_path, shared)
    long = _fit(name, 9, tmp_path, shared)
    assert torch.equal(_weights(alone), _weights(long)) and not torch.equal(_weights(short), _weights(long))
    assert torch.equal(_weights(_fit(name, 4)), _weights(short))
    assert len(list(shared.glob("*.pt"))) == 2


def test_the_longer_one_really_starts_from_the_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trajkit.deep.trainer import Trainer

    steps: list[int] = []
    step = Trainer._take_step
    monkeypatch.setattr(Trainer, "_take_step", lambda self: (steps.append(self.step), step(self))[1])
    shared = tmp_path / "prefixes"
    _fit("diffusion", 4, tmp_path, shared)
    _fit("diffusion", 9, tmp_path, shared)
    assert steps == [0, 1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    "changes",
    [
        {"decay": "cosine"},
        {"regime": "clipped"},
        {"regime": "private", "noise_multiplier": 2.0},
        {"visibility": "private"},
    ],
)
def test_nothing_is_shared_where_it_would_be_wrong_or_secret(tmp_path: Path, changes: dict[str, Any]) -> None:
    """A falling rate depends on the end, noise on the number of steps, and a private set's sampler state is kept nowhere."""
    shared = tmp_path / "prefixes"
    _fit("diffusion", 4, tmp_path, shared, **changes)
    assert not shared.exists()


def test_other_parameters_share_nothing(tmp_path: Path) -> None:
    shared = tmp_path / "prefixes"
    _fit("diffusion", 4, tmp_path, shared)
    _fit("diffusion", 9, tmp_path, shared, learning_rate=1e-3)
    assert len({p.stem.partition("-")[0] for p in shared.glob("*.pt")}) == 2


def test_a_finalised_checkpoint_is_the_beginning_of_nothing(tmp_path: Path) -> None:
    """Its sampler state is deleted: it is neither shared nor gone on from."""
    shared = tmp_path / "prefixes"
    _fit("diffusion", 4, tmp_path)
    final = tmp_path / "diffusion-4.pt"
    finalise_checkpoint(final, keep_state=False)
    _fit("diffusion", 4, tmp_path, shared)
    assert not shared.exists()
    final.rename(tmp_path / "diffusion-9.pt")
    with pytest.raises(CheckpointError, match="final at step 4"):
        _fit("diffusion", 9, tmp_path)
