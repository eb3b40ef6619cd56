"""Makes served.sqlite, which a server of the first release has left behind.

``python -m tests.service.campaigns.golden.make_served`` is not to be run again after a release: what later
versions must verify and go on from is the file as it was written then.  Its two campaigns hold every kind of
row: decisions, an exclusion, reports, a stop, registrations.
"""

import random
from pathlib import Path

from tests.service.campaigns.writer_bench import WriterBench, sent

from tutelage.service.api.access import make_key
from tutelage.service.campaigns.writer import ActionJob, PullJob

FILE = Path(__file__).with_name("served.sqlite")
ARMS = "xy"
CAMPAIGNS = {"directives": ("twl(gamma1=1,gamma2=0)", 300), "bets": ("blt", 120)}  # with rounds to play


def play(bench, name, rounds):
    """Rounds of pulls by all clients; some are reports, of new pulls and of answered ones."""
    source = random.Random(name)
    for number in range(rounds):
        pulls = [
            sent(
                f"{number:04d}-{client}",
                client,
                arm := ARMS[(number + index) % 2],
                round(-1 + 4 * min(1.0, max(0.0, source.gauss(ARMS.index(arm) / 3 + 0.2, 0.2))), 3),
                bypassed=number % 17 == 5 and client == "b",
            )
            for index, client in enumerate("abé")
        ]
        bench.do(PullJob(name, pulls=pulls))
        if number % 29 == 7:
            late = sent(pulls[0].id, pulls[0].client, pulls[0].arm, pulls[0].reward, bypassed=True)
            bench.do(PullJob(name, pulls=[late]))


def main():
    """Writes the file."""
    FILE.unlink(missing_ok=True)
    bench = WriterBench(FILE)
    bench.store.create_key(make_key("boss", "admin", None, (), 1)[1])
    for name, (teacher, rounds) in CAMPAIGNS.items():
        bench.create(
            name=name,
            arms=tuple(ARMS),
            clients=("a", "b") if name == "bets" else (),
            open_registration=True,
            low=-1.0,
            high=3.0,
            horizon=400,
            teacher=teacher,
            start=False,
        )
        for client in "abé":
            bench.do(ActionJob(name, act="register", client=client))
        bench.do(ActionJob(name, act="start"))
        play(bench, name, rounds)
        bench.do(ActionJob(name, act="exclude", client="é"))
        bench.do(ActionJob(name, act="stop"))
        bench.do(ActionJob(name, act="exported"))
        bench.do(ActionJob(name, act="start"))
        bench.do(PullJob(name, pulls=[sent(f"later-{client}", client, "x", 0.5) for client in "ab"]))
    bench.store.close()
    FILE.with_name(FILE.name + ".lock").unlink()


if __name__ == "__main__":
    main()
