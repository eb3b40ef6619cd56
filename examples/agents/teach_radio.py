"""Agents of four libraries choose radio channels, simulated and against a live campaign (docs/radio-tutorial.md).

    make example-radio TUTELAGE_DATA=FOLDER    (FOLDER holds grenoble-k7; `tutelage data` says where to get it)

Eight links of a radio network in Grenoble each run a bandit of MABWiser, River, PyMAB or Vowpal Wabbit that chooses
among 16 channels.  A reward is the share of a burst of packets that arrived, as measured.
"""

import argparse
import os
import sys
import threading
from pathlib import Path

import numpy as np
from live_server import CAMPAIGN, find_decision, read_campaign, run_campaign

import tutelage
from tutelage.agents import adapt
from tutelage.client import Client, play


def make_mabwiser(num_arms, seed):
    from mabwiser.mab import MAB, LearningPolicy

    agent = MAB(list(range(num_arms)), LearningPolicy.UCB1(alpha=1), seed=seed)
    agent.fit(list(range(num_arms)), [0.5] * num_arms)  # started cold it never leaves its first arm
    return agent


def make_river(num_arms, seed):
    from river import bandit

    return bandit.UCB(delta=1, seed=seed)


def make_pymab(num_arms, seed):
    from pymab.policies import UCBPolicy

    return UCBPolicy(n_arms=num_arms)


def make_vowpal_wabbit(num_arms, seed):
    from vowpalwabbit import Workspace

    return Workspace(f"--cb_explore {num_arms} --epsilon 0.1 --quiet --random_seed {seed}")


AGENTS = [make_mabwiser, make_river, make_pymab, make_vowpal_wabbit] * 2


def load_links():
    """Return eight links of the K7 trace, whose rewards are the bursts that were measured."""
    trace = Path(os.environ.get("TUTELAGE_DATA") or ".") / "grenoble-k7" / "grenoble.k7.gz"
    if not trace.is_file():
        sys.exit(f"{trace} was not found: set TUTELAGE_DATA to the folder that holds grenoble-k7; see `tutelage data`.")
    return tutelage.load_instance(f"radio:{trace},clients=8,seed=25,rewards=empirical")


def print_table(title, instance, late_shares):
    """Print for each link its agent, the channel that is best for it alone, and its late pulls of the target."""
    print(title)
    for client, (agent, share) in enumerate(zip(AGENTS, late_shares, strict=True)):
        own = instance.arm_label(int(instance.local_means[client].argmax()))
        library = agent.__name__.removeprefix("make_").replace("_", " ")
        print(f"  {instance.client_label(client):20} {library:13} alone best: {own:12} late pulls: {share:4.0%}")


def simulate(instance, horizon, seed):
    """Play all links in the simulator, with and without a teacher."""
    result = tutelage.simulate(instance, ["none", "blt"], AGENTS, horizon=horizon, runs=1, seed=seed, checkpoints=10)
    pulls = result["pulls"].values[:, 0, :, :, instance.best_arm]
    late = (pulls[..., -1] - pulls[..., -2]) / (horizon / 10)
    names = result["teacher"].values.tolist()
    for number, teacher in enumerate(names):
        one = result.isel(teacher=number, run=0, checkpoint=-1)
        print_table(
            f"Simulated, {teacher}: late pulls of {instance.arm_label(instance.best_arm)}", instance, late[number]
        )
        target = int(one["target"])
        found = instance.arm_label(target) if target >= 0 else "none"
        print(f"  regret {float(one['regret'].sum()):,.0f}, cost {float(one['cost'].sum()):,.0f}, target {found}")


def play_live(instance, horizon, seed):
    """Play the same agents against a live campaign, each in a thread of its own."""
    arms = [instance.arm_label(arm) for arm in range(instance.num_arms)]
    links = [instance.client_label(client) for client in range(instance.num_clients)]
    rewards, pulled = instance.reward_arrays(), {link: [] for link in links}
    print(f"Live: {len(links)} links play {horizon:,} rounds over HTTP ...", flush=True)
    with run_campaign({"arms": arms, "clients": links, "horizon": horizon, "teacher": "blt"}) as address:
        with Client(address, CAMPAIGN, deadline=10.0) as client:

            def play_link(number, link):
                generator = np.random.default_rng([seed, number])

                def measure(arm):
                    pulled[link].append(arm)
                    return instance.rewards.draw(rewards, number, arms.index(arm), generator)

                agent = adapt(AGENTS[number](len(arms), number), len(arms), number)
                play(client, link, agent, arms, measure, rounds=horizon)

            threads = [threading.Thread(target=play_link, args=each) for each in enumerate(links)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        campaign, decided = read_campaign(address), find_decision(address)
    if campaign["target"] is None:
        print(f"The campaign has not decided: {campaign['report']}.")
        return False
    late = horizon // 10
    shares = [pulled[link][-late:].count(campaign["target"]) / late for link in links]
    print_table(f"Live: late pulls of the target, {campaign['target']}", instance, shares)
    print(f"  cost {campaign['cost']:,.0f}, target {campaign['target']}, decided in round {decided:,}")
    print(f"{sum(share >= 0.8 for share in shares)} of {len(links)} links were led.")
    return campaign["target"] == arms[instance.best_arm]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--horizon", type=int, default=3000, help="rounds of each link")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random numbers")
    parser.add_argument("--only-live", action="store_true", help="play only against the live campaign")
    given = parser.parse_args()
    instance = load_links()
    if not given.only_live:
        simulate(instance, given.horizon, given.seed)
    return 0 if play_live(instance, given.horizon, given.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
