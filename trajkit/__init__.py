"""trajkit: publish location trajectories privately, and measure honestly what it costs."""

__version__ = "0.1.0"
