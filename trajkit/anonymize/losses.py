"""Shares of what a release leaves out, coarse enough to be told."""

from __future__ import annotations


def rounded_losses(losses: dict[str, float]) -> dict[str, float]:
    """Each share rounded to a whole percent: exact shares of a set whose size is known would count who is missing."""
    return {what: round(float(share), 2) for what, share in losses.items()}
