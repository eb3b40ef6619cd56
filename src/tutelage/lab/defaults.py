"""What a simulation uses where nothing is said; the command line has the same."""

DEFAULT_HORIZON, DEFAULT_RUNS, DEFAULT_SEED = 50_000, 20, 0
DEFAULT_CLIENTS, DEFAULT_CHECKPOINTS, DEFAULT_EXECUTOR = "ucb1", "linear", "auto"
