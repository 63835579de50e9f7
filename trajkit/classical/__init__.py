"""Classical DP synthesizers: noisy counts of cells, transitions or prefixes, from which trajectories are drawn."""
