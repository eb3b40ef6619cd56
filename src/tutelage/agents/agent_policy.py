"""A client whose policy is an agent, as an entry of the table of policies: ``agent(make=package.module:function)``.

The engine compiles ``choose`` and ``learn`` as those of any policy; they call back the run's agents
(``engine/agent_group.py``), so that rewards, rules, delays and records are those of the compiled loop.
"""

import contextlib
import ctypes
import importlib
import json
import weakref
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from tutelage.agents.adapters import adapt
from tutelage.agents.base import Agent, AgentMaker, PolicyMaker
from tutelage.code_errors import describe_code_error
from tutelage.errors import InputError
from tutelage.policies.base import Learner
from tutelage.registry import parameter
from tutelage.text import format_value
from tutelage.versions import package_version

SELECT = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
UPDATE = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_double)
SELECT_ADDRESS, UPDATE_ADDRESS, CLIENT = range(3)  # places in the parameters; an address has at most 48 bits


def call_select(address: float, client: float) -> int:
    """Call the function at an address for the next arm of a client; -1 if its agent failed."""
    return SELECT(int(address))(int(client))  # type: ignore[no-any-return]


def call_update(address: float, client: float, arm: int, reward: float) -> None:
    """Call the function at an address with a revealed reward of a client."""
    UPDATE(int(address))(int(client), arm, reward)


def choose(round: int, learner: Learner, parameters: NDArray[Any], stream: Any) -> int:
    """Ask the client's agent; only a run of the engine has agents (its addresses are not 0)."""
    return -1 if parameters[SELECT_ADDRESS] == 0.0 else call_select(parameters[SELECT_ADDRESS], parameters[CLIENT])


def learn(arm: int, reward: float, learner: Learner, parameters: NDArray[Any], stream: Any) -> None:
    """Pass the revealed reward to the client's agent."""
    if parameters[UPDATE_ADDRESS] != 0.0:
        call_update(parameters[UPDATE_ADDRESS], parameters[CLIENT], arm, reward)


_MADE: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # objects of makers that are in use


@dataclass(frozen=True)
class AgentPolicy:
    """An agent of any library: ``make(num_arms, seed)`` is called for a new one in every run."""

    make: str = parameter(
        help="function of the number of arms and a seed that makes an agent, as package.module:function, or a policy"
    )
    function: Any = field(default=None, repr=False)  # an AgentMaker; by default what has the name

    choose = staticmethod(choose)
    learn = staticmethod(learn)

    def __post_init__(self) -> None:
        if self.function is None:
            object.__setattr__(self, "function", _import(self.make) if ":" in self.make else PolicyMaker(self.make))

    @classmethod
    def of(cls, function: AgentMaker) -> "AgentPolicy":
        """Return the client for a maker; its name is where it can be imported from, if it can."""
        return cls(_name(function), function)

    @property
    def can_be_imported(self) -> bool:
        """Whether the SPEC is enough to make these agents."""
        return isinstance(self.function, PolicyMaker) or _find(self.make) is self.function

    def state_size(self, num_arms: int) -> int:
        return 0

    def parameters(self) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0)  # each run has its own

    def make_agent(self, num_arms: int, seed: int) -> Agent:
        """Make a new agent.  Raises ``InputError`` if the maker fails or makes something that is not an agent."""
        try:
            made = self.function(num_arms, seed)
        except InputError:
            raise
        except Exception as error:
            reason = describe_code_error(error, self.function)
            raise InputError(f"The agent {self.make} cannot be made: {reason}.") from error
        self._check_new(made)
        return adapt(made, num_arms, seed)

    def _check_new(self, made: Any) -> None:
        """Raise ``InputError`` if an object was made before; one that cannot be referred to weakly is not checked."""
        if _MADE.get(id(made)) is made:
            raise InputError(
                f"The agent {self.make} returned the same object as before, which has learned: return a new one at "
                "each call."
            )
        with contextlib.suppress(TypeError):
            _MADE[id(made)] = made

    def describe(self, num_arms: int) -> dict[str, Any]:
        """Return the class of an agent, and the versions of the packages that it and its parts come from."""
        agent = self.make_agent(num_arms, 0)
        parts = [self.function, agent, *getattr(agent, "__dict__", {}).values()]
        wrapped = getattr(agent, "wrapped", agent)
        return {
            "class": f"{type(wrapped).__module__}.{type(wrapped).__qualname__}",
            "packages": _list_packages({_module_of(part).partition(".")[0] for part in parts}),
        }


def describe_agents(policies: tuple[Any, ...], num_arms: int) -> str:
    """Return the JSON of the agents among the clients: for each maker its class and packages; "" without any."""
    makers = {policy.make: policy for policy in policies if isinstance(policy, AgentPolicy)}
    found = {make: policy.describe(num_arms) for make, policy in makers.items()}
    return json.dumps(found) if found else ""


def _list_packages(modules: set[str]) -> dict[str, str]:
    from importlib import metadata  # takes longer than the rest of this module

    known = metadata.packages_distributions()
    names = {name for module in modules for name in known.get(module, ())}
    return {name: package_version(name) for name in sorted(names)}


def _module_of(thing: Any) -> str:
    return str(getattr(thing, "__module__", None) or type(thing).__module__)


def _name(function: Any) -> str:
    if isinstance(function, PolicyMaker):
        return function.spec
    named = function if hasattr(function, "__qualname__") else type(function)
    name = f"{named.__module__}:{named.__qualname__}"
    if _find(name) is function:
        return name
    line = getattr(getattr(function, "__code__", None), "co_firstlineno", "")
    return f"{name}:{line}" if line else f"{named.__module__}:{format_value(function, 300)}"


def _find(name: str) -> Any:
    """Return what has this name, ``module:name``; None if nothing has."""
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError):
        return None
    return found


def _import(name: str) -> AgentMaker:
    function = _find(name)
    if not callable(function):
        raise InputError(
            f"The agent {name!r} cannot be imported: name a function as package.module:function.  Functions inside "
            "others, lambdas and those of a script can be used from Python only."
        )
    return function  # type: ignore[no-any-return]
