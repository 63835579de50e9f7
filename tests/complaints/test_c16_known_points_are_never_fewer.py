"""C16: risk with p known points must not mix several p; people with fewer points are counted apart, in every attack."""

from __future__ import annotations

import numpy as np

from trajkit.anonymize.signatures import Signatures
from trajkit.attacks.location_risk import location_risk
from trajkit.attacks.origin import Origin
from trajkit.attacks.reidentification import reidentification
from trajkit.attacks.uniqueness import uniqueness

# two users with the same five points, one with two points of her own; p = 4
CELLS = np.array([0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 8, 9])
LABELS = Signatures(CELLS, np.zeros_like(CELLS), np.array([0, 5, 10, 12]))
USER = np.array(["long a", "long b", "short"])


def test_the_user_with_two_points_is_in_no_figure_of_four() -> None:
    """Lowered to p = 2, the short record would be unique and raise every figure."""
    (at,) = uniqueness(LABELS, USER, seed=0, p=(4,), exact=True).by_p
    assert (at.targets, at.too_few, at.unicity, at.guess_success) == (2, 1, 0.0, 0.5)
    everybody = Origin.one_each(np.arange(3))
    (linked,) = reidentification(LABELS, USER, LABELS, everybody, seed=0, p=(4,), exact=True).by_p
    assert (linked.targets, linked.too_few, linked.success) == (2, 1, 0.5)
    risk = location_risk(LABELS, USER, p=4)
    assert risk.too_few.tolist() == ["short"] and risk.users.tolist() == ["long a", "long b"]
    assert risk.mean == 0.5 and risk.share_alone == 0.0
