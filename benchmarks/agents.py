"""Teach unmodified agents of other libraries, and write the tables of docs/agents.md.

    python benchmarks/agents.py [--only LIBRARY | --skip LIBRARY] [--horizon T] [--runs R] [--overhead]

Each agent is one of three clients; the two others are UCB1.  It would prefer arm 0, which has the largest mean at this
client, but arm 1 is best for all.  An agent counts as taught if in every run the target is arm 1 and at least 80 % of
its own last tenth of pulls are of it.  Libraries that are not installed are left out.  ``--overhead`` measures what the
engine adds to a step of an agent that does nothing.
"""

import functools
import importlib.util
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import tutelage
from tutelage.atomic_files import write_atomically
from tutelage.engine.simulation import simulate_run
from tutelage.errors import InputError

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

from arguments import add_seed, make_parser
from make_tables import fill
from real_agents import AGENTS, MODULES

PAGE = Path(__file__).parents[1] / "docs" / "agents.md"
TEACHERS = {name: (name, False) for name in ("tal", "tal(gamma1=0)", "tal(gamma1=0.5)", "twl", "blt", "none")}
COLUMNS = {**TEACHERS, "blt, binary reveals": ("blt", True)}
MEANS = ((0.8, 0.4, 0.2), (0.1, 0.9, 0.3), (0.3, 0.9, 0.1))
BEST_ARM = 1
TAUGHT_SHARE = 0.8


def teach(maker: object, horizon: int, runs: int, seed: int) -> Iterator[str]:
    """Yield for each teacher whether the agent was taught, with the share of its last pulls of the best arm."""
    instance = tutelage.instance(np.array(MEANS))
    for teacher, is_binary in COLUMNS.values():
        clients: list[Any] = [maker, "ucb1", "ucb1"]
        try:
            result = tutelage.simulate(
                instance,
                teacher,
                clients,
                horizon=horizon,
                runs=runs,
                seed=seed,
                checkpoints=10,
                binary_reveals=is_binary,
            )
        except InputError as error:
            yield "refuses fractions" if "binary" in str(error) else f"fails: {error}"
            continue
        pulls = result["pulls"].values[0, :, 0]
        shares = (pulls[:, -1, BEST_ARM] - pulls[:, -2, BEST_ARM]) / (horizon / 10)
        targets = result["target"].values[0]
        verdict = "taught" if shares.min() >= TAUGHT_SHARE else "not led"
        if (targets != BEST_ARM).any():
            verdict = "wrong target" if (targets >= 0).any() else "not decided"
        yield f"{'no teacher' if teacher == 'none' else verdict} ({shares.mean():.0%})".replace("%", " %")


def make_table(libraries: Sequence[str], horizon: int, runs: int, seed: int) -> Iterator[Sequence[str]]:
    """Yield a row for each agent."""
    yield "agent", *(f"`{name}`" if name in TEACHERS else name for name in COLUMNS)
    for library, agents in AGENTS.items():
        module = MODULES[library]
        if library not in libraries or (module and importlib.util.find_spec(module) is None):
            continue
        version = f" {metadata.version(module)}" if module else ""
        for name, maker in agents.items():
            started = time.perf_counter()
            row = f"{library}{version}: {name}", *teach(maker, horizon, runs, seed)
            print(" | ".join(row), f"({time.perf_counter() - started:.0f} s)", flush=True)
            yield row


class Idle:
    """An agent that selects the arms in turn and learns nothing."""

    def __init__(self, num_arms: int, seed: int) -> None:
        self.num_arms, self.round = num_arms, 0

    def select(self) -> int:
        self.round = (self.round + 1) % self.num_arms
        return self.round

    def update(self, arm: int, reward: float) -> None:
        pass


def measure_overhead(steps: int = 50_000) -> Iterator[Sequence[str]]:
    """Yield the processor time per step, in µs, that the engine adds to an agent's own."""
    agent = Idle(5, 0)
    started = time.process_time()
    for _ in range(steps):
        agent.update(agent.select(), 0.0)
    own = time.process_time() - started
    yield "clients", "teacher", "µs per step of an agent"
    mixes: list[list[Any]] = [[Idle] * 5, [Idle, "ucb1", "ucb1", "ucb1", "ucb1"]]
    for clients in mixes:
        number = clients.count(Idle)
        for teacher in ("none", "tal", "blt"):
            request = tutelage.make_request("paper", teacher, clients, horizon=steps, runs=1)
            simulate_run(tutelage.make_request("paper", teacher, clients, horizon=100, runs=1), 0, 0)
            started = time.process_time()
            simulate_run(request, 0, 0)
            added = (time.process_time() - started) / number - own
            label = "5 agents" if number == 5 else "1 agent, 4 ucb1"
            yield label, f"`{teacher}`", f"{added / steps * 1e6:.1f}"


def main() -> None:
    """Run the command."""
    parser = make_parser(__doc__)
    parser.add_argument("--only", choices=list(AGENTS), help="library whose agents are played, printed only")
    parser.add_argument("--skip", choices=list(AGENTS), action="append", default=[], help="library to leave out")
    parser.add_argument("--horizon", type=int, default=5000, help="rounds of a run (%(default)s)")
    parser.add_argument("--runs", type=int, default=2, help="runs of each agent and teacher (%(default)s)")
    parser.add_argument("--overhead", action="store_true", help="measure only what the engine adds to a step")
    add_seed(parser, 1)
    given = parser.parse_args()
    if given.overhead:
        tables = {"overhead": list(measure_overhead())}
        print(*map(" | ".join, tables["overhead"]), sep="\n")
    else:
        warnings.simplefilter("ignore")  # the libraries' own
        libraries = [given.only] if given.only else [name for name in AGENTS if name not in given.skip]
        tables = {"taught": list(make_table(libraries, given.horizon, given.runs, given.seed))}
    if given.only is None:
        page = PAGE.read_text(encoding="utf-8")
        filled = fill(page, {name: functools.partial(list, rows) for name, rows in tables.items()})
        write_atomically(PAGE, filled.encode())


if __name__ == "__main__":
    main()
