"""Shadow models of the UNet GAN: shards and resuming, what leaks and what does not, the claim, refusals."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from member_toys import walks_of_users
from toys import META

from trajkit.attacks.audit_bounds import Curve, audit
from trajkit.attacks.member_scores import nearest
from trajkit.attacks.shadow_audit import ShadowVerdict, judge, models_needed, most_accurate, read_models, train_models
from trajkit.attacks.shadow_models import mechanism
from trajkit.attacks.shadow_targets import OWN, TINY, ShadowAudit, canaries, targets_of
from trajkit.errors import DataContractError, MissingDataError, ParameterError
from trajkit.methods import make_method
from trajkit.parameters import checked
from trajkit.privacy.accounting import epsilon_of
from trajkit.privacy.ledger import DpSgd
from trajkit.seeds import rng
from trajkit.trajectories import Trajectories

PEOPLE = walks_of_users(60, 2)
ONE_STEP = {**TINY, "length": 8, "batch_size": 8, "steps": 1, "n_critic": 2}
SMALL: dict[str, Any] = {"shadows": 8, "attacked": 4, "planted": 4, "natural": 20, "n_release": 20, "gan": ONE_STEP}
MANY: dict[str, Any] = {**SMALL, "shadows": 40, "attacked": 80, "epsilon": 0.5}


def leaky(train: Trajectories, seed: int) -> Trajectories:
    """Its training set, in another order."""
    return train.take(rng(seed, "attack", "order").permutation(len(train)))


def unrelated(train: Trajectories, seed: int) -> Trajectories:
    return make_method("uniform", length=8).fit(train, seed=seed).release(20, seed=seed).trajectories


def config(**changes: Any) -> ShadowAudit:
    return checked(ShadowAudit, {"dp_target": "generator", **SMALL, **changes}, where="shadow audit")


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ShadowVerdict]:
    """A release of everything, the same where no target is in any model, and one that never looks at its training set."""
    found = {}
    for name, release_of, placebo in (("leaky", leaky, False), ("placebo", leaky, True), ("blind", unrelated, False)):
        folder = tmp_path_factory.mktemp(name)
        train_models(config(**MANY, placebo=placebo), PEOPLE, folder, seed=1, release_of=release_of)
        found[name] = judge(read_models(folder))
    return found


def test_what_releases_its_training_set_is_caught_by_both_tests(verdicts: dict[str, ShadowVerdict]) -> None:
    found = verdicts["leaky"]
    assert found.planted.by == ("epsilon", "curve") and found.one_run.by == ("epsilon",) and found.contradicted
    assert found.planted.epsilon_lower is not None
    assert found.planted.claimed_epsilon < 0.9 * found.most < found.planted.epsilon_lower <= found.most
    assert found.one_run.epsilon_lower is not None
    assert 0.9 * found.most_one_run < found.one_run.epsilon_lower <= found.most_one_run
    assert all(s.auc == 1 for s in found.planted.scores if s.score.startswith("nearest"))
    for group in (found.natural, found.canaries):
        assert group["LiRA, nearest"].auc > 0.99 and group["LiRA, nearest"].at[0].tpr > 0.9
        assert [a.fpr for a in group["nearest"].at] == [0.01, 0.001]
    assert "is contradicted" in found.in_words()


@pytest.mark.parametrize("name", ["placebo", "blind"])
def test_nothing_is_found_where_there_is_nothing(verdicts: dict[str, ShadowVerdict], name: str) -> None:
    found = verdicts[name]
    assert not found.contradicted and found.planted.epsilon_lower == 0 == found.one_run.epsilon_lower
    assert found.most > 0.5 and found.most_one_run > 0.5  # it could have been seen
    for _, roc in found.natural.attacks:
        assert roc.auc_interval[0] < 0.5 < roc.auc_interval[1]
    assert "proves nothing" in found.in_words() and ("placebo" in found.in_words()) == (name == "placebo")


def test_figures_are_json_and_the_error_rate_is_shared(verdicts: dict[str, ShadowVerdict]) -> None:
    found = verdicts["leaky"]
    told = json.loads(json.dumps(found.to_dict()))
    assert told["tests"]["planted"]["verdict"] == "contradicted" and len(told["membership"]["natural"]) == 6
    assert found.planted.level == found.one_run.level == pytest.approx(0.975)
    assert "12 scores" in found.planted.tried and len(found.planted.scores) == 4 * 3
    assert found.natural.targets + found.canaries.targets == 24 - found.left_out


def test_shards_add_up_to_the_whole_and_nothing_is_trained_twice(tmp_path: Path) -> None:
    c, calls = config(), []

    def counted(train: Trajectories, seed: int) -> Trajectories:
        calls.append(seed)
        return leaky(train, seed)

    assert train_models(c, PEOPLE, tmp_path / "whole", seed=3, release_of=counted) == c.models == 12
    whole = read_models(tmp_path / "whole")
    for shard in range(3):
        n = train_models(c, PEOPLE, tmp_path / f"{shard % 2}", seed=3, shard=shard, shards=3, release_of=counted)
        assert n == len(range(shard, 12, 3))
    assert sorted(calls[:12]) == sorted(calls[12:]) and len(set(calls)) == 12
    parts = read_models([tmp_path / "0", tmp_path / "1"])
    assert (parts.inside == whole.inside).all() and parts.claim == whole.claim
    for name, values in whole.statistics.items():
        np.testing.assert_array_equal(parts.statistics[name], values)
    assert train_models(c, PEOPLE, tmp_path / "whole", seed=3, release_of=counted) == 0 and len(calls) == 24
    lost = tmp_path / "whole" / "model-000007.json"
    kept = lost.read_text()
    lost.unlink()
    with pytest.raises(MissingDataError, match="1 of 12 models are missing"):
        read_models(tmp_path / "whole")
    assert train_models(c, PEOPLE, tmp_path / "whole", seed=3, release_of=counted) == 1
    again, before = json.loads(lost.read_text()), json.loads(kept)
    assert {k: again[k] for k in again if k != "seconds"} == {k: before[k] for k in before if k != "seconds"}


@pytest.mark.parametrize("dp_target", ["generator", "critic"])
def test_the_gan_itself_is_trained_anew_for_each_model_and_alike_for_one_seed(dp_target: str, tmp_path: Path) -> None:
    c = config(dp_target=dp_target)
    for folder in ("a", "b"):
        assert train_models(c, PEOPLE, tmp_path / folder, seed=1, shard=2, shards=6) == 2
    a, b = ([json.loads(f.read_text()) for f in sorted((tmp_path / x).iterdir())] for x in ("a", "b"))
    assert [r["statistics"] for r in a] == [r["statistics"] for r in b] and len(a) == 2  # and no checkpoint is left
    assert a[0]["statistics"]["nearest"] != a[1]["statistics"]["nearest"]
    # its weights are covered by the promise only where the critic is private
    assert ("critic" in a[0]["statistics"]) == (dp_target == "critic")
    assert all(len(v) == 24 and np.isfinite(v).all() for r in a for v in r["statistics"].values())


def test_the_claim_is_that_of_the_schemes_own_accountant() -> None:
    for dp_target, steps in (("generator", 1), ("critic", 2)):
        c = config(dp_target=dp_target, epsilon=2.0)
        claim = mechanism(c, 100)
        assert (claim.sample_rate, claim.steps) == (8 / 100, steps)
        assert epsilon_of(claim, delta=1e-5, unit="trajectory").epsilon == pytest.approx(2.0, rel=0.02)
    targets = targets_of(config(), PEOPLE, seed=1)
    sizes = [len(targets.training_set(i)) for i in range(12)]
    assert (
        targets.least == min(sizes) < max(sizes)
    )  # the claim is that of the smallest set, so that no other claims more


def test_planted_and_natural_targets_are_apart_and_coins_are_fair() -> None:
    c = config(**MANY)
    t = targets_of(c, PEOPLE, seed=1)
    names = t.trajs.traj_ids[(t.label >= 0) & (t.label < 4)]
    assert list(names) == [f"planted-{i}" for i in range(4)]
    natural = t.trajs.take(t.label >= 4)
    assert not np.isin(natural.traj_ids, names).any() and len(np.unique(natural.user)) == 20
    assert not np.isin(t.trajs.user[t.label < 0], natural.user).any()  # all trips of a person go together
    assert abs(t.inside.mean() - 0.5) < 0.05 and np.abs(np.corrcoef(t.inside.T) - np.eye(24)).max() < 0.4
    for i in range(3):
        train = t.training_set(i)
        expected = np.isin(names, train.traj_ids)
        assert (expected == t.inside[i, :4]).all()
    none = targets_of(config(placebo=True), PEOPLE, seed=1)
    assert len(none.training_set(0)) == (none.label < 0).sum() == none.least


def test_canaries_are_where_nobody_goes() -> None:
    odd = canaries(META, 9)
    assert odd.check() is odd and len(np.unique(odd.user)) == 9
    unit = META.box.to_unit(odd.lonlat).reshape(9, -1, 2)
    assert np.abs(unit).max(axis=(1, 2)) == pytest.approx(np.full(9, 0.98))
    moves = np.abs(np.diff(unit, axis=1)).max(axis=(1, 2))
    assert (moves[:5] < 1e-9).all() and (moves[5:] > 1.9).all()
    assert len(np.unique(unit.reshape(9, -1).round(6), axis=0)) == 9
    for n in (4, 7, 8, 9):  # none lies on the way of another
        odd = canaries(META, n)
        for i in range(n):
            assert nearest(odd.take(np.array([i])), odd.take(np.arange(n) != i))[0] < -np.log(1000)


def test_what_so_many_models_can_show() -> None:
    assert most_accurate(10.0, 1e-5) == pytest.approx(0.99995, abs=1e-5)
    assert most_accurate(0.0, 0.0) == 0.5
    point = Curve((2.0,), (1e-5,))
    whole = Curve.of_dp_sgd(DpSgd(0.1, 0.8, 20), largest=10.0)
    for curve in (point, whole):
        n = models_needed(curve, scores=3, level=0.95)
        for models, enough in ((n, True), (n - 4, False)):
            ones = {f"{i}": (np.ones(models // 2), np.zeros(models // 2)) for i in range(3)}
            assert audit(ones, delta=1e-5, level=0.95, curve=curve).refutes_curve == enough
    assert models_needed(Curve((10.0,), (1e-5,)), scores=1) > 4 * math.exp(10)  # a single point of it takes far more


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"shadows": 9}, "shadows"),
        ({"attacked": 1}, "attacked"),
        ({"planted": 3}, "planted"),
        ({"dp_target": "both"}, "dp_target"),
        *(({"gan": {name: 1}}, f"gan.{name}") for name in OWN),
    ],
)
def test_bad_settings_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        config(**changes)


def test_bad_parameters_and_data_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="shard = 2"):
        train_models(config(), PEOPLE, tmp_path, seed=1, shard=2, shards=2)
    with pytest.raises(ParameterError, match="natural = 60"):
        train_models(config(natural=60), PEOPLE, tmp_path, seed=1)
    with pytest.raises(ParameterError, match="batch_size = 500"):
        train_models(config(gan={**ONE_STEP, "batch_size": 500}), PEOPLE, tmp_path, seed=1)
    with pytest.raises(ParameterError, match="stepps"):
        train_models(config(gan={"stepps": 5}), PEOPLE, tmp_path, seed=1)
    ids = PEOPLE.traj_ids.astype(object)
    ids[0] = "planted-1"
    with pytest.raises(DataContractError, match="planted-1"):
        train_models(config(), replace(PEOPLE, traj_ids=ids.astype(str)), tmp_path, seed=1)
    with pytest.raises(MissingDataError, match="train_models"):
        read_models(tmp_path)
    train_models(config(), PEOPLE, tmp_path, seed=1, release_of=unrelated)
    for changed in ({"seed": 2}, {"seed": 1, "release_of": leaky}):
        with pytest.raises(DataContractError, match="another audit"):
            train_models(config(), PEOPLE, tmp_path, **{"release_of": unrelated, **changed})
    with pytest.raises(ParameterError, match="level"):
        judge(read_models(tmp_path), level=1.0)
