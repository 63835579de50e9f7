"""Publishing sequences by a noisy prefix tree: from sequences and a budget to a tree, and from a tree to released sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trajkit.classical.looks import Looks
from trajkit.classical.prefix_tree import LevelMass, PrefixTree, build_tree, check_height
from trajkit.classical.tree_inference import Variant, counts_of, terminating_counts, whole_counts
from trajkit.classical.tree_noise import LevelNoise, Threshold, check_size, chosen_threshold, false_share
from trajkit.errors import ParameterError
from trajkit.privacy.guarantee import Guarantee
from trajkit.sequences import Sequences

MOST_RELEASED = 50_000_000
NOT_EMPTY = "that there is at least one trajectory is public: no tree is built of none"


@dataclass(frozen=True)
class NoisyTree:
    """A published tree and how it came about. ``masses`` compare it with the true counts and are **not private**.

    false_children: children by noise alone that a kept node has on average. expected_noise_nodes: nodes of the tree of an
    empty data set, on average.
    """

    tree: PrefixTree
    looks: Looks
    threshold: float
    false_children: float
    expected_noise_nodes: float
    masses: tuple[LevelMass, ...]

    def guarantee(self, *public: str) -> Guarantee:
        """epsilon-DP per trajectory, or per user where their sequences are bounded, add-remove; ``public`` names further public choices."""
        tree = self.tree
        times = f" and the {tree.n_times} time bins" if tree.time is not None else ""
        return self.looks.guarantee(
            "noisy prefix tree (thresholds, inference and release read noisy counts alone)",
            public=(
                f"the universe of {tree.n_symbols} locations{times} and the height {tree.height} are public",
                NOT_EMPTY,
                *public,
            ),
        )

    def report(self) -> dict[str, Any]:
        """What is known about the tree without a further look at the data."""
        return {
            "locations": self.tree.n_symbols,
            "height": self.tree.height,
            "threshold": self.threshold,
            "false children per node, expected": self.false_children,
            "nodes of noise alone, expected": self.expected_noise_nodes,
            "nodes": len(self.tree),
            "nodes per level": np.diff(self.tree.level).tolist(),
        }


def publish_tree(
    sequences: Sequences,
    *,
    epsilon: float,
    height: int,
    seed: int,
    threshold: Threshold = "subcritical",
    mechanism: Literal["geometric", "laplace"] = "geometric",
    source: Literal["seeded", "os"] = "seeded",
    records: int | None = None,
) -> NoisyTree:
    """Return the noisy prefix tree of ``sequences``, epsilon / height a level (Chen et al. 2011, Procedure 1).

    ``records``: sequences that one user has at most, which the caller must enforce (see `Looks`).

    Raises ParameterError before anything is drawn where noise alone would make the tree too large, DataContractError for no
    sequences.
    """
    check_height(height)
    looks = Looks(epsilon, seed=seed, stream="prefix_tree", source=source, mechanism=mechanism, records=records)
    what = "prefixes of one length, level by level"
    noise = looks.noise(what, epsilon=looks.budget / height, times=height)
    children = sequences.n_symbols * sequences.n_times
    value = chosen_threshold(threshold, noise, children)
    share = false_share(noise, value)
    expected = check_size(children, height, share, value)
    tree, masses = build_tree(sequences, height=height, noise=LevelNoise(noise, value, looks.rng))
    return NoisyTree(tree, looks, value, children * share, expected, tuple(masses))


def released_sequences(tree: PrefixTree, variant: Variant = "full") -> Sequences:
    """Every prefix as often as trajectories end there by the counts of ``variant``, in the order of the nodes.

    Raises ParameterError where they would be more than `MOST_RELEASED`, as with an epsilon near 0.
    """
    ends = terminating_counts(tree, counts_of(tree, variant))
    if ends.sum() > MOST_RELEASED:
        raise ParameterError(
            f"the noisy counts add up to {ends.sum():.3g} sequences (at most {MOST_RELEASED:,} are released): raise epsilon or the "
            "threshold, or use variant full"
        )
    return tree.prefixes(np.repeat(np.arange(len(tree)), whole_counts(ends)))
