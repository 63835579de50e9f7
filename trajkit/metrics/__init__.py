"""Utility metrics: how far released trajectories are from real ones, at the level of points, trajectories, patterns and roads.

Every metric is declared in `METRICS` with its unit, direction and definition; `evaluate` computes them; `rescale` puts a
value between the floor (other real data) and the ceiling (no information).
"""

from trajkit.metrics.settings import METRICS_VERSION, Metric, MetricResult, MetricSettings, rescale
from trajkit.metrics.suite import METRICS, evaluate

__all__ = ["METRICS", "METRICS_VERSION", "Metric", "MetricResult", "MetricSettings", "evaluate", "rescale"]
