"""What a model or a release says about a target: the statistics from which membership is guessed, high where a member would be.

Black box, from released trajectories alone: how near the nearest one comes (`nearest`), and how much denser the release is around the target
than a public set is (`density_ratio`, DOMIAS of van Breugel et al. 2023). White box, from the model: minus its loss on the target.
Each statistic is per trajectory; `trajkit.attacks.membership` puts those of a person together and makes attacks of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.spatial import cKDTree

from trajkit.attacks.member_split import check_apart
from trajkit.attacks.path_distance import Rule, nearest_paths, paths_of
from trajkit.errors import DataContractError, ParameterError
from trajkit.geo import project
from trajkit.preprocess import to_fixed_length
from trajkit.trajectories import Trajectories

Statistics = Mapping[str, np.ndarray]  # name -> float64 [targets], a trajectory each
Examine = Callable[[Trajectories], Statistics]  # what can be seen of one trained model, about any targets
ModelOf = Callable[[Trajectories, int], Examine]  # (training set, seed) -> the same
POINTS, NEIGHBOURS = 16, 1
NEAR_M = 1.0  # distances below a metre are alike: no record is more precise


def embedded(trajs: Trajectories, points: int) -> np.ndarray:
    """float64 [n, points, 2]: places in metres at equal steps of the point index (`to_fixed_length`)."""
    lonlat = to_fixed_length(trajs, length=points)
    return project(lonlat.reshape(-1, 2), trajs.meta.crs).reshape(lonlat.shape)


def nearest(targets: Trajectories, released: Trajectories, *, points: int = POINTS) -> np.ndarray:
    """float64 [n]: minus log(1 + metres) from each target to the nearest released path, 0 for one that is released as it is.

    The distance is the mean over ``points`` places of the target to the released polyline; times are not compared. Raises
    DataContractError for an empty release.
    """
    _some(released)
    known = np.ascontiguousarray(embedded(targets, points))
    none = np.zeros(0, dtype=np.int64)
    nobody = (np.zeros(len(known) + 1, dtype=np.int64), none, np.zeros(len(released) + 1, dtype=np.int64), none)
    when = np.zeros(known.shape[:2], dtype=np.int64)
    metres, _, _ = nearest_paths(known, when, paths_of(released, timed=False), Rule(False, False, 0.0), *nobody)
    return np.asarray(-np.log1p(metres / NEAR_M))


def density_ratio(
    targets: Trajectories, released: Trajectories, reference: Trajectories, *, points: int = POINTS, neighbours: int = NEIGHBOURS
) -> np.ndarray:  # fmt: skip
    """float64 [n]: log density of the release over that of ``reference`` at each target, by distances to nearest neighbours.

    Density is taken as neighbours / (size x distance^d) in d = 2 x ``points`` dimensions (Loftsgaarden and Quesenberry 1965), distance in
    root mean square metres over the places, at least `NEAR_M`. ``reference`` must hold no target: it stands for what is publicly known
    of such trajectories. Raises DataContractError where a set has fewer than ``neighbours`` trajectories.
    """
    at = embedded(targets, points).reshape(len(targets), -1)
    logs = []
    for name, trajs in (("the release", released), ("the reference", reference)):
        _some(trajs)
        if len(trajs) < neighbours:
            raise DataContractError(
                f"{name} has {len(trajs)} trajectories, fewer than neighbours = {neighbours}: use fewer"
            )
        tree = cKDTree(embedded(trajs, points).reshape(len(trajs), -1))
        metres = tree.query(at, k=[neighbours])[0][:, 0] / np.sqrt(points)
        logs.append(-np.log(len(trajs)) - 2 * points * np.log(np.maximum(metres, NEAR_M)))
    return np.asarray(logs[0] - logs[1])


def of_release(
    release_of: Callable[[Trajectories, int], Trajectories], *, reference: Trajectories | None = None,
    points: int = POINTS, neighbours: int = NEIGHBOURS,
) -> ModelOf:  # fmt: skip
    """What a release of any kind gives away: "nearest", and with a ``reference`` "density ratio".

    ``release_of(train, seed)`` trains on ``train`` alone and returns what would be handed over. The reference shares no user, trajectory or
    copy of one with the targets (`member_split.set_aside`), or DataContractError is raised: give people of another set other names.
    """

    def model_of(train: Trajectories, seed: int) -> Examine:
        released = release_of(train, seed)

        def examine(targets: Trajectories) -> Statistics:
            if reference is not None:
                check_apart(reference, targets, "user")
            found = {"nearest": nearest(targets, released, points=points)}
            if reference is not None:
                found["density ratio"] = density_ratio(
                    targets, released, reference, points=points, neighbours=neighbours
                )
            return found

        return examine

    return model_of


def of_losses(loss_of: Callable[[Trajectories, int], Callable[[Trajectories], np.ndarray]]) -> ModelOf:
    """What a model's own loss gives away: "loss", its negative. ``loss_of(train, seed)`` trains and returns targets -> losses [n]."""

    def model_of(train: Trajectories, seed: int) -> Examine:
        losses = loss_of(train, seed)

        def examine(targets: Trajectories) -> Statistics:
            values = np.asarray(losses(targets), dtype=np.float64)
            if values.shape != (len(targets),):
                raise ParameterError(
                    f"losses have shape {values.shape}, but there are {len(targets)} targets: one each"
                )
            return {"loss": -values}

        return examine

    return model_of


def _some(trajs: Trajectories) -> None:
    if not len(trajs):
        raise DataContractError(
            "the set to compare with is empty, so nothing in it is near: there is nothing to attack"
        )
