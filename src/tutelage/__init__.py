"""Tutelage teaches bandits that it does not control, by adjusting the rewards that they see.

Names are loaded when they are first used, so ``import tutelage`` is fast and compiles nothing::

    import tutelage

    result = tutelage.simulate("paper", ["twl", "none"], "ucb1", horizon=50_000, runs=20, seed=1)
    tutelage.save(result, "result.nc")

``plan``, ``bound`` and ``run_experiment`` return objects whose ``summary()`` is a document of plain values.
"""

TYPE_CHECKING = False  # importing typing takes time in which Ctrl-C gives Python's traceback
if TYPE_CHECKING:
    from typing import Any

    from tutelage.bound_comparison import bound
    from tutelage.conditions import Conditions
    from tutelage.errors import InputError
    from tutelage.experiments import read_experiment, run_experiment
    from tutelage.instances import Instance
    from tutelage.instances import load as load_instance
    from tutelage.instances.array_instances import make_instance as instance
    from tutelage.measurement.agent_check import check_agent
    from tutelage.planning.cases import AssumedInstance
    from tutelage.planning.plan import plan
    from tutelage.request import SimulationRequest
    from tutelage.results import SimulationResult, load, save
    from tutelage.simulator import Verification, make_request, simulate, simulate_request, verify

    __version__: str

_HOMES = {
    "AssumedInstance": "tutelage.planning.cases:AssumedInstance",
    "Conditions": "tutelage.conditions:Conditions",
    "InputError": "tutelage.errors:InputError",
    "Instance": "tutelage.instances:Instance",
    "SimulationResult": "tutelage.results:SimulationResult",
    "SimulationRequest": "tutelage.request:SimulationRequest",
    "instance": "tutelage.instances.array_instances:make_instance",
    "bound": "tutelage.bound_comparison:bound",
    "check_agent": "tutelage.measurement.agent_check:check_agent",
    "load": "tutelage.results:load",
    "load_instance": "tutelage.instances:load",
    "make_request": "tutelage.simulator:make_request",
    "plan": "tutelage.planning.plan:plan",
    "read_experiment": "tutelage.experiments:read_experiment",
    "run_experiment": "tutelage.experiments:run_experiment",
    "save": "tutelage.results:save",
    "simulate": "tutelage.simulator:simulate",
    "simulate_request": "tutelage.simulator:simulate_request",
    "Verification": "tutelage.simulator:Verification",
    "verify": "tutelage.simulator:verify",
}

__all__ = [  # noqa: RUF022 - as a reader meets them
    "simulate",
    "plan",
    "bound",
    "check_agent",
    "run_experiment",
    "save",
    "load",
    "verify",
    "instance",
    "load_instance",
    "make_request",
    "read_experiment",
    "simulate_request",
    "InputError",
    "Instance",
    "AssumedInstance",
    "Conditions",
    "SimulationResult",
    "SimulationRequest",
    "Verification",
    "__version__",
]


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name == "__version__":
        return import_module("tutelage.versions").package_version()
    if name not in _HOMES:
        raise AttributeError(f"module 'tutelage' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
