"""The lab: what people call to simulate, with every argument resolved and checked."""

from tutelage.lab.arguments import (
    DEFAULT_CHECKPOINTS,
    DEFAULT_CLIENTS,
    DEFAULT_EXECUTOR,
    DEFAULT_HORIZON,
    DEFAULT_RUNS,
    DEFAULT_SEED,
    make_request,
    parse_clients,
)
from tutelage.lab.checkpoints import Checkpoints, checkpoint_rounds
from tutelage.lab.simulating import simulate, simulate_request

__all__ = [
    "DEFAULT_CHECKPOINTS",
    "DEFAULT_CLIENTS",
    "DEFAULT_EXECUTOR",
    "DEFAULT_HORIZON",
    "DEFAULT_RUNS",
    "DEFAULT_SEED",
    "Checkpoints",
    "checkpoint_rounds",
    "make_request",
    "parse_clients",
    "simulate",
    "simulate_request",
]
