"""Test-wide settings."""

from hypothesis import HealthCheck, settings

# `pytest --hypothesis-profile=long` looks for what the everyday examples miss.
settings.register_profile(
    "everyday", max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.register_profile("long", max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("everyday")
