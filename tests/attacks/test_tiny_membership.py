"""LiRA on stacks of tiny GANs: a generator that leaks is found, equal sets are not, the canary beside the average, refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

from tests.toys import META
from trajkit.attacks import tiny_membership
from trajkit.attacks.tiny_game import corner, rows_of
from trajkit.attacks.tiny_gan import TinyGan, Training
from trajkit.attacks.tiny_membership import REGIMES, Regime, TinyFound, TinyMembership, in_words, infer, infer_all
from trajkit.datasets.samples import paths
from trajkit.errors import ParameterError
from trajkit.parameters import checked
from trajkit.trajectories import Trajectories

TRIPS = rows_of(
    Trajectories.from_fixed(
        np.stack(paths(64, META.box, lengths=(20, 20), random=np.random.default_rng(3))), meta=META
    ),
    8,
)
SMALL = TinyMembership(shadows=64, attacked=32, gan={"steps": 40, "batch": 8})
NONE = (None, None)


class _Leaky(Training):
    """Releases the records it was trained on."""

    def run(self) -> Training:
        return self

    def samples(self, n: int) -> torch.Tensor:
        assert self.members is not None
        far = torch.full((self.records.shape[1],), -5.0)
        return torch.where(self.members[..., None], self.records, far)


def test_what_releases_its_records_is_found_and_its_canary_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny_membership, "Training", _Leaky)
    found = infer(Regime("generator", 1.0), TRIPS, SMALL, start=NONE, seed=1)
    assert found.natural["nearest"].at[1].tpr > 0.9 and found.natural["LiRA, nearest"].auc > 0.9
    (nearest,) = (s for s in found.canary.by_score if s.score == "nearest")
    assert nearest.auc == 1.0 and nearest.epsilon == found.most == found.canary.epsilon > 1
    assert found.canary.refutes_curve is True
    blank = infer(Regime("generator", 1.0), TRIPS, SMALL, start=NONE, seed=1, placebo=True)
    assert blank.canary.epsilon == 0 and blank.canary.refutes_curve is False
    for _, roc in blank.natural.attacks:
        assert roc.auc_interval[0] < 0.5 < roc.auc_interval[1]


@pytest.fixture(scope="module")
def found() -> tuple[TinyFound, ...]:
    return infer_all(TRIPS, SMALL, start=NONE, seed=1)


def test_every_regime_is_attacked_by_what_it_releases(found: tuple[TinyFound, ...]) -> None:
    assert [f.regime for f in found] == list(REGIMES) and len(found) == 5
    assert [f.claimed is None for f in found] == [True, False, False, False, False]
    for f in found:
        names = {name for name, _ in f.natural.attacks}
        assert {"nearest", "LiRA, nearest", "LiRA, density", "LiRA, toward"} <= names
        assert ("LiRA, critic" in names) == (f.regime.scheme == "critic")
        assert f.natural.unit == "trajectory" and f.natural.targets == 64  # the canary is none of the natural ones
        if f.claimed is not None:
            assert f.claimed == pytest.approx(f.regime.epsilon, rel=0.02)
            assert (f.canary.refutes_curve, f.regime.scheme) != (True, "critic")
        assert f.canary.epsilon <= f.most
    text = in_words(found)
    assert "no noise" in text and "DP-SGD on the critic, epsilon 10" in text and text.count("\n") == 4


def test_results_are_json_and_the_same_for_one_seed(found: tuple[TinyFound, ...]) -> None:
    told = json.dumps(found[3].to_dict())
    assert told == json.dumps(infer(found[3].regime, TRIPS, SMALL, start=NONE, seed=1).to_dict())
    assert told != json.dumps(infer(found[3].regime, TRIPS, SMALL, start=NONE, seed=2).to_dict())
    kept = json.loads(told)
    assert kept["claimed epsilon"] == found[3].claimed and "seconds" not in told
    for curve in kept["curves"].values():
        assert curve["fpr"][0] == 0 and curve["fpr"][-1] == curve["tpr"][-1] == 1 and len(curve["fpr"]) <= 60
        assert np.all(np.diff(curve["fpr"]) >= 0) and np.all(np.diff(curve["tpr"]) >= 0)


def test_models_hold_whom_their_coins_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model's data are half of the trips, the canary in half of the models; rate and claim are those of half of the trips."""
    seen: list[Training] = []

    class Watched(Training):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            seen.append(self)

    monkeypatch.setattr(tiny_membership, "Training", Watched)
    monkeypatch.setattr(tiny_membership, "BLOCK", 40)
    infer(Regime("critic", 1.0), TRIPS, SMALL, start=NONE, seed=1)
    members = torch.cat([b.members for b in seen])  # type: ignore[misc]
    assert [b.models for b in seen] == [40, 40, 16] and members.shape == (96, 65)
    assert members.float().mean().item() == pytest.approx(0.5, abs=0.03)
    assert 30 < members[:, -1].sum() < 66 and torch.equal(seen[0].records[-1], corner(16))
    assert {b.rate for b in seen} == {8 / 32}
    assert len({b.random.initial_seed() for b in seen}) == 3
    assert seen[0].config.mechanism(32).noise_multiplier == seen[0].config.noise_multiplier > 0


def test_statistics_are_high_where_a_record_is_released() -> None:
    done = _Leaky(
        TinyGan(scheme="generator", noise_multiplier=0.0),
        torch.cat([TRIPS, corner(16)[None]]),
        rate=0.5,
        models=2,
        seed=1,
        members=torch.arange(65).expand(2, 65) % 2 == 0,
    )
    seen = tiny_membership._seen(done, done.records)
    assert np.allclose(seen["nearest"][:, 0::2], 0, atol=1e-2)
    assert (seen["nearest"][:, 1::2] < -1e-2).all()
    assert set(seen) == {"nearest", "density", "toward"} and all(v.shape == (2, 65) for v in seen.values())


@pytest.mark.parametrize(
    ("changes", "named"), [({"shadows": 17}, "shadows"), ({"attacked": 0}, "attacked"), ({"n": 1}, "n ")]
)
def test_bad_settings_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        checked(TinyMembership, changes, where="tiny membership")


def test_bad_trips_are_refused() -> None:
    with pytest.raises(ParameterError, match="trips"):
        infer(REGIMES[0], TRIPS[:6], SMALL, start=NONE, seed=1)
    big = TinyMembership(gan={"batch": 60})
    with pytest.raises(ParameterError, match=r"gan\.batch = 60"):
        infer(REGIMES[1], TRIPS, big, start=NONE, seed=1)
