"""Play one federation in shards on the workers of a local Dask cluster, and compute what 10^9 clients would need.

    python benchmarks/shards.py [--clients 100000] [--workers 1,2] [--engine leap]

Each worker is a process of one thread.  A smaller federation is played before, so that kernels are compiled.  Seconds
depend on what else the machine does; processor time and bytes hardly do.  Bytes are those of the pickled
answers of all shards.  Every number of workers must give the same result as threads of this process.
"""

import importlib
import os
import pickle
import time
from dataclasses import dataclass
from typing import Any

from arguments import make_parser

from tutelage import make_request, simulate_request
from tutelage.engine.run_clients import Player, RunClients
from tutelage.engine.sharded_clients import ShardedClients
from tutelage.request import SimulationRequest

TEACHER, ARMS = "tal(gamma1=0,gamma2=0)", 10
MANY = 10**9


@dataclass(frozen=True)
class Measured:
    """What one federation took: seconds, processor seconds of all workers, and bytes that travelled."""

    seconds: float
    processor_seconds: float
    evidence_bytes: int
    other_bytes: int
    consultations: int


def make_federation(clients: int, horizon: int, engine: str) -> SimulationRequest:
    """Return a request with UCB1, epsilon-greedy and Thompson sampling 4 : 4 : 2."""
    part = clients // 5
    policies = f"{2 * part}*ucb1,{2 * part}*eps-greedy,{clients - 4 * part}*ts"
    return make_request(
        f"planted:clients={clients},arms={ARMS},gap=.05",
        TEACHER,
        policies,
        horizon=horizon,
        runs=1,
        seed=1,
        checkpoints=10,
        engine=engine,
    )


def count_state_bytes(request: SimulationRequest) -> int:
    """Return the bytes of the state of one client; those of segments that are never reached are reserved only."""
    return int(RunClients(request, 0, 0, Player(), own=slice(0, 1)).memory.block.nbytes)


def measure(request: SimulationRequest, cluster: Any, client: Any) -> tuple[Measured, Any]:
    """Play a request on the cluster; return what it took and the result."""
    sent = {"take_segments": 0, "others": 0}
    ask = ShardedClients._ask  # noqa: SLF001 - what the shards answer, to count it

    def count(clients: ShardedClients, name: str, *arguments: Any) -> list[Any]:
        answers = ask(clients, name, *arguments)
        if name != "finish":
            sent[name if name in sent else "others"] += len(pickle.dumps(answers))
        return answers

    ShardedClients._ask = count  # type: ignore[method-assign, assignment]  # noqa: SLF001
    before, began = client.run(time.process_time), time.perf_counter()
    try:
        result = simulate_request(request, executor=cluster.scheduler_address.replace("tcp://", "dask://"))
    finally:
        ShardedClients._ask = ask  # type: ignore[method-assign]  # noqa: SLF001
    seconds, after = time.perf_counter() - began, client.run(time.process_time)
    spent = sum(after[worker] - before[worker] for worker in after)
    rounds = int(result.consultations[0, 0])
    return Measured(seconds, spent, sent["take_segments"], sent["others"], rounds), result


def print_needs(measured: Measured, state: int, clients: int) -> None:
    """Print what 10^9 clients would need if each needs as much as those that were played."""
    times = MANY / clients
    evidence = measured.evidence_bytes / max(1, measured.consultations)
    print(f"\n| {MANY:,} clients, {ARMS} arms | for each client | together |\n|---|---|---|")
    print(f"| state | {state / 1e3:.2f} kB | {state * MANY / 1e12:.2f} TB |")
    print(
        f"| processor time | {1e3 * measured.processor_seconds / clients:.2f} ms "
        f"| {measured.processor_seconds * times / 3600:,.0f} core hours |"
    )
    print(f"| sums at a consultation | {evidence / clients:.0f} bytes | {evidence * times / 1e9:.0f} GB |")
    print(f"\nAll other answers of {measured.consultations} consultations: {measured.other_bytes:,} bytes.")


def main() -> None:
    """Measure and print everything."""
    parser = make_parser(__doc__)
    parser.add_argument("--clients", type=int, default=100_000)
    parser.add_argument("--workers", default="1,2", help="numbers of workers, separated by commas")
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--engine", default="leap")
    options = parser.parse_args()
    distributed: Any = importlib.import_module("distributed")
    request = make_federation(options.clients, options.horizon, options.engine)
    expected = simulate_request(request, executor="threads").to_dataset()
    print(
        f"Load before: {os.getloadavg()[0]:.1f}\n\n| workers | seconds | ratio | processor seconds |\n|---|---|---|---|"
    )
    first = None
    for workers in map(int, options.workers.split(",")):
        with (
            distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            measure(make_federation(5000, options.horizon, options.engine), cluster, client)
            measured, result = measure(request, cluster, client)
        if not result.to_dataset().identical(expected):
            raise ValueError(f"{workers} workers gave another result than threads.")
        first = first or measured
        ratio = first.seconds / measured.seconds
        print(f"| {workers} | {measured.seconds:.1f} | {ratio:.2f} | {measured.processor_seconds:.1f} |", flush=True)
    print_needs(measured, count_state_bytes(request), options.clients)
    print(f"\nLoad after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
