"""The command that simulates a request, which a saved result holds."""

import itertools
import shlex

from tutelage.request import DEFAULT_ENGINE, SimulationRequest
from tutelage.simulator.engine_choice import choose_engine


def write_command(request: SimulationRequest, checkpoints: str) -> str:
    """Return the command; the instance is one that its name makes again, and ``checkpoints`` are their SPEC."""
    real, policies = request.instance.conditions, request.client_labels
    groups = [f"{len(list(group))}*{label}" for label, group in itertools.groupby(policies)]
    options = {
        "--clients": ",".join(groups) if len(groups) > 1 else policies[0],
        "--horizon": request.horizon,
        "--runs": request.runs,
        "--seed": request.seed,
        "--checkpoints": checkpoints,
        "--activity": ";".join(map(repr, real.activity)),
        "--delay": ";".join(map(str, real.delays)),
        "--exclude-after": "" if request.exclude_after is None else request.exclude_after,
        "--engine": "" if request.engine == choose_engine(request, DEFAULT_ENGINE) else request.engine,
    }
    words = ["tutelage", "simulate", request.instance.name]
    words += [word for label in request.teacher_labels for word in ("--teacher", label)]
    words += [str(word) for name, value in options.items() if value != "" for word in (name, value)]
    words += ["--binary-reveals"] * request.binary_reveals
    for name, rounds in (("--stop", real.stops), ("--exclude", sorted(request.exclude.items()))):
        words += [word for client, round in rounds for word in (name, f"{client}:{round}")]
    return shlex.join(words)
