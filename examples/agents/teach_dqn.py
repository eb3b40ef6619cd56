"""A DQN of Stable-Baselines3, unmodified, is taught by a live campaign through TaughtReward.

    make example-dqn

Three clients pull the same three arms.  The DQN would prefer arm 0, which has the largest mean at this client; arm 1
is best for all.  The two other clients are UCB1.  The DQN learns once without and once with the campaign; the exit
status is 1 unless the campaign leads it to arm 1.
"""

import argparse
import sys
import threading
from collections import Counter

import gymnasium
import numpy as np
import torch
from live_server import CAMPAIGN, read_campaign, run_campaign
from stable_baselines3 import DQN

from tutelage.agents import PolicyMaker
from tutelage.client import Client, play
from tutelage.environments import TaughtReward

MEANS = {"dqn": (0.8, 0.4, 0.2), "ucb1 a": (0.1, 0.9, 0.3), "ucb1 b": (0.3, 0.9, 0.1)}
ARMS = ["0", "1", "2"]
BEST_ARM = 1


class Bandit(gymnasium.Env):
    """A bandit with rewards of 0 and 1: every step is the same, and an episode has 100 of them."""

    def __init__(self, means, seed):
        self.means, self.generator, self.pulls = means, np.random.default_rng(seed), []
        self.action_space = gymnasium.spaces.Discrete(len(means))
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.ones(1, dtype=np.float32), {}

    def step(self, action):
        self.pulls.append(int(action))
        reward = float(self.generator.random() < self.means[action])
        return np.ones(1, dtype=np.float32), reward, False, len(self.pulls) % 100 == 0, {}


def learn(env, rounds, seed):
    """Let a DQN learn that explores a tenth of the time; the future is worth nothing in a bandit."""
    DQN(
        "MlpPolicy",
        env,
        gamma=0.0,
        learning_rate=1e-2,
        learning_starts=32,
        buffer_size=1000,
        train_freq=1,
        exploration_fraction=0.05,
        exploration_final_eps=0.1,
        policy_kwargs={"net_arch": [16]},
        seed=seed,
        device="cpu",
    ).learn(rounds)


def teach(rounds, seed):
    """Let all three clients play the campaign; return the DQN's pulls and the campaign's target."""
    bandits = {name: Bandit(means, seed + number) for number, (name, means) in enumerate(MEANS.items())}
    campaign = {"arms": ARMS, "clients": list(MEANS), "horizon": rounds, "teacher": "blt"}
    with run_campaign(campaign) as address:
        with Client(address, CAMPAIGN, deadline=10.0) as client:

            def play_ucb1(name):
                agent = PolicyMaker("ucb1")(len(ARMS), seed)
                play(client, name, agent, ARMS, lambda arm: bandits[name].step(int(arm))[1], rounds=rounds)

            others = [threading.Thread(target=play_ucb1, args=(name,)) for name in MEANS if name != "dqn"]
            for thread in others:
                thread.start()
            learn(TaughtReward(bandits["dqn"], client, "dqn", ARMS), rounds, seed)
            for thread in others:
                thread.join()
        return bandits["dqn"].pulls, read_campaign(address)["target"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000, help="rounds of each client")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random numbers")
    given = parser.parse_args()
    torch.set_num_threads(1)  # a net of 16 units
    alone = Bandit(MEANS["dqn"], given.seed)
    learn(alone, given.rounds, given.seed)
    taught, target = teach(given.rounds, given.seed)
    late = given.rounds // 10
    for label, pulls in (("without a teacher", alone.pulls), ("taught by blt", taught)):
        shares = Counter(pulls[-late:])
        print(f"{label}: " + ", ".join(f"arm {arm} {shares[arm] / late:.0%}" for arm in range(3)))
    print(f"target: arm {target}")
    is_taught = target == str(BEST_ARM) and Counter(taught[-late:])[BEST_ARM] >= 0.8 * late
    print("The DQN was taught." if is_taught else "The DQN was not taught.")
    return 0 if is_taught else 1


if __name__ == "__main__":
    sys.exit(main())
