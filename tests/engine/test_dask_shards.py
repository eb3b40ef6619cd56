"""Clients of one run in shards on the workers of a real Dask scheduler."""

import textwrap

import pytest

pytest.importorskip("distributed")

_SAME = """if True:
    import distributed
    from tutelage import simulator
    arguments = dict(
        clients="2000*ucb1,1*eps-greedy,999*ucb1,2999*eps-greedy,1*ts", runs=2, seed=5, checkpoints=20, horizon=3000
    )
    instance, teachers = "planted:clients=6000,arms=3,gap=0.2", ["tal(gamma1=0,gamma2=0)", "twl", "none"]
    if __name__ == "__main__":
        with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
            address = cluster.scheduler_address.replace("tcp://", "dask://")
            for engine in ("step", "leap"):
                expected = simulator.simulate(instance, teachers, workers=1, engine=engine, **arguments)
                noted = []
                result = simulator.simulate(
                    instance, teachers, executor=address, engine=engine, progress=noted.append, **arguments
                )
                print(result.identical(expected), any(share % 1 for share in noted), max(noted) <= 6)
"""

_KILLED = """if True:
    import os, signal, sys, distributed
    from tutelage import simulator
    from tutelage.engine.sharded_clients import ShardedClients
    arguments = dict(clients="ucb1", horizon=3000, runs=1, seed=5, checkpoints=20, engine="step")
    instance, dies_in = "planted:clients=6000,arms=3,gap=0.01", sys.argv[1]
    if __name__ == "__main__":
        expected = simulator.simulate(instance, "twl", workers=1, **arguments)
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            with distributed.Client(cluster, set_as_default=False) as client:
                pids = list(client.run(os.getpid).values())
            act, killed = getattr(ShardedClients, dies_in), []
            def kill_and_act(clients, *arguments):
                if not killed and len(clients.steps) > 6:
                    killed.append(pids[0])
                    os.kill(pids[0], signal.SIGKILL)
                return act(clients, *arguments)
            setattr(ShardedClients, dies_in, kill_and_act)
            address = cluster.scheduler_address.replace("tcp://", "dask://")
            result = simulator.simulate(instance, "twl", executor=address, **arguments)
            print(len(killed), result.consultations.item() > 1, result.identical(expected))
"""


def run_script(python, tmp_path, text, *arguments):
    """Return what a script prints; Dask's workers import it."""
    (tmp_path / "script.py").write_text(textwrap.dedent(text))
    return python(tmp_path / "script.py", *arguments).stdout


def test_shards_on_dask_give_the_same_result(python, tmp_path):
    """Four shards in two processes, stepping and leaping, give the same bytes as one thread, and report progress."""
    assert run_script(python, tmp_path, _SAME) == "True True True\n" * 2


@pytest.mark.parametrize("dies_in", ["take_evidence", "find_consultation", "finish"])
def test_a_killed_worker_loses_no_shard(python, tmp_path, dies_in):
    """A worker that is killed between two consultations: its shard replays the run, with the same result."""
    assert run_script(python, tmp_path, _KILLED, dies_in) == "1 True True\n"
