"""The conditioning set: who is in it, how often its records are released, what an unprotected condition gives away."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from deep_toys import BOX, LENGTH, META, renamed, toy_trajectories
from torch import Tensor

from trajkit.deep.condition_config import ConditionConfig
from trajkit.deep.condition_set import ConditioningSet, split_conditions
from trajkit.errors import DataContractError, ParameterError
from trajkit.preprocess import to_fixed_length
from trajkit.trajectories import Trajectories

GAUSSIAN = {"type": "sample", "mechanism": "gaussian", "epsilon": 2.0, "d_out": 3}


def made(n: int = 10, *, redraw: bool = True, noise: str = "seeded", **config: object) -> ConditioningSet:
    trajs = toy_trajectories(n)
    unit = BOX.to_unit(to_fixed_length(trajs, length=LENGTH).reshape(-1, 2)).reshape(n, LENGTH, 2)
    records = torch.from_numpy(unit.transpose(0, 2, 1).astype(np.float32))
    asked = ConditionConfig(**(config or GAUSSIAN))  # type: ignore[arg-type]
    return ConditioningSet(asked, trajs, records, redraw=redraw, seed=1, noise=noise, half_box=1.0)


def encode(source: Tensor) -> Tensor:
    """Three numbers of norm below 1."""
    return source[:, :3] / 2


@pytest.mark.parametrize("seed", [0, 1])
def test_held_out_trajectories_are_no_training_records(seed: int) -> None:
    whole = toy_trajectories(50)
    train, held = split_conditions(whole, None, ConditionConfig(type="sample"), seed=seed)
    assert held is not None and len(held) == 5 and len(train) == 45
    assert set(train.traj_ids) | set(held.traj_ids) == set(whole.traj_ids)
    assert not set(train.traj_ids) & set(held.traj_ids)
    again = split_conditions(whole, None, ConditionConfig(type="sample"), seed=seed)[1]
    other = split_conditions(whole, None, ConditionConfig(type="sample"), seed=seed + 2)[1]
    assert held.fingerprint() == again.fingerprint() != other.fingerprint()  # type: ignore[union-attr]


def test_without_a_condition_nothing_is_held_out() -> None:
    whole = toy_trajectories(20)
    assert split_conditions(whole, None, ConditionConfig(), seed=0) == (whole, None)


def test_other_sources() -> None:
    train, test = toy_trajectories(20), renamed(toy_trajectories(8, seed=9))
    from_test = ConditionConfig(type="sample", drawn_from="test", size=6)
    kept, held = split_conditions(train, test, from_test, seed=0)
    assert kept is train and held is not None and len(held) == 6 and set(held.traj_ids) <= set(test.traj_ids)
    kept, held = split_conditions(train, test, ConditionConfig(type="sample", drawn_from="training"), seed=0)
    assert kept is train and held is train
    with pytest.raises(ParameterError, match="no test set was given"):
        split_conditions(train, None, from_test, seed=0)
    with pytest.raises(DataContractError, match="20 of its trajectories are training trajectories too"):
        split_conditions(train, train, from_test, seed=0)
    with pytest.raises(DataContractError, match=r"condition\.size is 20"):
        split_conditions(train, None, ConditionConfig(type="sample", size=20), seed=0)
    with pytest.raises(DataContractError, match="the set to draw from has 8"):
        split_conditions(train, test, ConditionConfig(type="sample", drawn_from="test", size=9), seed=0)


def test_every_record_is_taken_once_before_any_is_taken_again() -> None:
    drawn = made(10).draw(23, seed=0, encode=encode)
    counts = np.bincount(drawn.index, minlength=10)
    assert sorted(set(counts)) == [2, 3] and counts.sum() == 23
    assert sorted(drawn.index[:10]) == list(range(10))


def test_more_trajectories_than_records_are_several_releases() -> None:
    conditions = made(10)
    assert conditions.releases == 1
    conditions.draw(10, seed=0, encode=encode)
    assert conditions.releases == 1
    conditions.draw(10, seed=0, encode=encode)  # the same bytes again
    assert conditions.releases == 1
    conditions.draw(25, seed=0, encode=encode)
    assert conditions.releases == 1 + 3
    conditions.draw(4, seed=1, encode=encode)
    assert conditions.releases == 1 + 3 + 1


def test_releases_of_another_number_share_no_noise() -> None:
    """VMF draws its cosines before its directions: were the noise of n and n + 1 the same stream, two releases would share the
    secret cosines, and their difference would show the vector. The ledger counts them apart, so they must be apart."""
    conditions = made(40, **{"type": "sample", "mechanism": "vmf", "epsilon": 2.0, "d_out": 3})
    one, two = (conditions.draw(n, seed=3, encode=encode) for n in (39, 40))
    rows = encode(conditions.source).double()
    rows = rows / rows.norm(dim=1, keepdim=True)
    by_record = [
        (rows[torch.from_numpy(d.index)] * d.vectors).sum(dim=1)[torch.from_numpy(np.argsort(d.index))[:30]]
        for d in (one, two)
    ]
    assert conditions.releases == 2
    assert float((by_record[0] - by_record[1]).abs().min()) > 1e-5


def test_other_parameters_have_other_noise() -> None:
    pools = []
    for stream in ("one run", "another"):
        conditions = made(10, redraw=False, **GAUSSIAN)
        conditions.stream = stream
        pools.append(conditions.pool(encode).vectors)
    assert float((pools[0] - pools[1]).abs().min()) > 1e-6


def test_noise_of_the_operating_system_is_new_every_time() -> None:
    conditions = made(10, noise="os")
    one, two = (conditions.draw(10, seed=0, encode=encode).vectors for _ in range(2))
    assert not torch.equal(one, two) and conditions.releases == 2


def test_one_private_vector_a_record_is_one_release_however_often_it_is_used() -> None:
    conditions = made(10, redraw=False)
    drawn = conditions.draw(35, seed=0, encode=encode)
    assert conditions.releases == 1
    for i in range(10):
        same = drawn.vectors[torch.from_numpy(drawn.index == i)]
        assert torch.equal(same, same[:1].expand_as(same))
    assert torch.equal(
        conditions.draw(5, seed=3, encode=encode).vectors[0],
        conditions.pool(encode).vectors[conditions.draw(5, seed=3, encode=encode).index[0]],
    )


def test_fresh_noise_differs_between_uses_of_a_record() -> None:
    drawn = made(10).draw(20, seed=0, encode=encode)
    assert all(len(torch.unique(drawn.vectors[torch.from_numpy(drawn.index == i)], dim=0)) == 2 for i in range(10))


def test_a_vector_longer_than_its_bound_is_clipped_before_the_noise() -> None:
    """A compressor that breaks its bound cannot break the guarantee: the rows are bounded again in double precision."""
    drawn = made(10, **{**GAUSSIAN, "epsilon": 100.0}).draw(10, seed=0, encode=lambda s: 1e3 * s[:, :3])
    assert float(drawn.vectors.norm(dim=1).max()) < 3


def test_the_leak_check_tells_copies_from_strangers() -> None:
    conditions = made(40)
    index = np.random.default_rng(0).permutation(40)
    own = to_fixed_length(conditions.trajs, length=LENGTH)[index]
    copies = Trajectories.from_fixed(own, meta=META)
    found = conditions.leak(copies, index, seed=0)
    assert found is not None and found["ratio"] < 1e-6 and found["found"] == 1.0 and found["chance"] == 1 / 40
    strangers = conditions.leak(toy_trajectories(40, length=LENGTH, seed=77), index, seed=0)
    assert strangers is not None and 0.7 < strangers["ratio"] < 1.4 and strangers["found"] < 0.2
