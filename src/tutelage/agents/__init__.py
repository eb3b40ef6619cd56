"""Agents: bandits of any library as clients, in the simulator and against a live server (docs/agents.md)."""

from tutelage.agents.adapters import adapt
from tutelage.agents.base import Agent, AgentMaker, CallablesAgent, PolicyAgent, PolicyMaker
from tutelage.seeding import AgentSeed

__all__ = ["Agent", "AgentMaker", "AgentSeed", "CallablesAgent", "PolicyAgent", "PolicyMaker", "adapt"]
