"""Studies: params to runs, runs to reports. Notebooks import what they need from here."""

from trajkit.study.run import Run, open_run

__all__ = ["Run", "open_run"]
