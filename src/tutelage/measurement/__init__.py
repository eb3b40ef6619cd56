"""The paper's definitions, measured by simulation: how policies explore and what a history does to them."""

from tutelage.measurement.exploration import Exploration, sufficient_exploration
from tutelage.measurement.warm_start import WarmStart, warm_start_pulls

__all__ = ["Exploration", "WarmStart", "sufficient_exploration", "warm_start_pulls"]
