"""Settings of a campaign, as an operator creates it, and their checks."""

import dataclasses
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from tutelage.errors import InputError
from tutelage.service.campaigns.campaign import CampaignSetup, RewardScale
from tutelage.service.campaigns.edge_teacher import EdgeTeacher
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Problem, Teacher, number_arms
from tutelage.teachers.checks import ask_segments
from tutelage.text import format_count

RULES_VERSION = 5  # of everything that determines entries and revealed rewards, including reports
MOST_NAME = 128
MOST_CLIENTS, MOST_ARMS, MOST_HORIZON = 100_000, 10_000, 2**53
MOST_CELLS = 1_000_000  # clients times arms: some 300 MB of memory
CAMPAIGN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_WEIGHT_SUM_MARGIN = 1e-9


@dataclass(frozen=True)
class Edge:
    """Of the copy of a campaign at an edge: the edge's name, and when the leader's campaign was created."""

    name: str
    created: int


@dataclass(frozen=True)
class Settings:
    """A campaign as it was created: names, horizon, teacher, range of rewards, weights.

    With ``open_registration``, ``clients`` may be empty, and more clients register until the start.
    ``weights`` are in the order of the clients; None is 1/M each.  ``seed`` is the teacher's.
    With ``binary_reveals`` only ``low`` and ``high`` are revealed.  ``edge`` is set for the copy at an edge, which
    holds the leader's directives and consults no teacher.
    Raises ``InputError`` for invalid settings.
    """

    name: str
    arms: tuple[str, ...]
    horizon: int
    teacher: str
    clients: tuple[str, ...] = ()
    open_registration: bool = False
    low: float = 0.0
    high: float = 1.0
    weights: tuple[float, ...] | None = None
    seed: int = 0
    binary_reveals: bool = False
    edge: Edge | None = None

    def __post_init__(self) -> None:
        check_campaign_name(self.name)
        check_names("arm", self.arms, MOST_ARMS)
        check_names("client", self.clients, MOST_CLIENTS)
        if not self.arms:
            raise InputError(f"The campaign {self.name} has no arms: name at least one.")
        if not self.clients and not self.open_registration:
            raise InputError(f"The campaign {self.name} has no clients: name them, or open registration.")
        if len(self.clients) * len(self.arms) > MOST_CELLS:
            raise InputError(
                f"{len(self.clients)} clients times {len(self.arms)} arms are too many: the product may be "
                f"at most {MOST_CELLS}."
            )
        if not 1 <= self.horizon <= MOST_HORIZON:
            raise InputError(f"Invalid horizon {self.horizon}: use 1 to {MOST_HORIZON}.")
        RewardScale(self.low, self.high)
        if self.weights is not None:
            self._check_weights(self.weights)
        teacher = parse_teacher(self.teacher, self.arms)
        if self.clients:
            ask_segments(teacher, self.problem(self.clients))

    def _check_weights(self, weights: tuple[float, ...]) -> None:
        if self.open_registration:
            raise InputError("A campaign with open registration cannot have weights: name its clients instead.")
        if len(weights) != len(self.clients):
            number = format_count(len(weights), "weight")
            raise InputError(
                f"The campaign has {number} for {format_count(len(self.clients), 'client')}: use one weight per client."
            )
        for client, weight in zip(self.clients, weights, strict=True):
            if not 0 < weight <= 1:
                raise InputError(f"Invalid weight {weight} of client {client!r}: use numbers above 0 that sum to 1.")
        if abs(math.fsum(weights) - 1.0) > _WEIGHT_SUM_MARGIN:
            raise InputError(f"The weights sum to {math.fsum(weights)!r}, but must sum to 1.")

    def problem(self, clients: Sequence[str]) -> Problem:
        """Return the teacher's problem with these clients."""
        size = len(clients)
        weights = self.weights if self.weights is not None else (1.0 / size,) * size
        return Problem(size, len(self.arms), self.horizon, weights)

    def setup(self, clients: Sequence[str]) -> CampaignSetup:
        """Return the setup of a campaign with these clients."""
        teacher = parse_teacher(self.teacher, self.arms)
        if self.edge is not None:
            teacher = EdgeTeacher(teacher)
        return CampaignSetup(
            teacher, self.problem(clients), RewardScale(self.low, self.high), self.seed, self.binary_reveals
        )

    def encode(self) -> str:
        """Return the settings as JSON."""
        found = dataclasses.asdict(self)
        if self.edge is None:
            del found["edge"]
        return msgspec.json.encode(found).decode()


def decode_settings(text: str) -> Settings:
    """Read what :meth:`Settings.encode` wrote."""
    return msgspec.json.decode(text, type=Settings)


def order_weights(
    weights: Sequence[float] | Mapping[str, float] | None, clients: Sequence[str]
) -> tuple[float, ...] | None:
    """Return the weights in client order, from a list in that order or a mapping by name."""
    if weights is None or not isinstance(weights, Mapping):
        return None if weights is None else tuple(weights)
    if weights.keys() != set(clients):
        odd = min(set(clients) ^ weights.keys())
        raise InputError(f"The weights and the clients differ: {odd!r} is in only one of them.")
    return tuple(weights[client] for client in clients)


def parse_teacher(spec: str, arms: Sequence[str] = ()) -> Teacher:
    """Parse the SPEC of a teacher, which may name arms.  Raises ``InputError`` if a live campaign cannot use it."""
    teacher: Teacher = TEACHERS.parse(spec)
    if arms:
        teacher = number_arms(teacher, arms, len(arms))
    if teacher.simulation_only:
        raise InputError(f"The teacher {spec} needs information that only a simulation has: use another teacher.")
    if teacher.needs_best_arm:
        name = spec.partition("(")[0].strip()
        raise InputError(f"The teacher {spec} needs a target: write it as in {name}(target=0).")
    return teacher


def check_campaign_name(name: str) -> None:
    """Raise ``InputError`` for an invalid name of a campaign."""
    if not CAMPAIGN_NAME.fullmatch(name):
        raise InputError(
            f"Invalid campaign name {name!r}: use 1 to 64 letters, digits, dots, dashes and underscores, "
            "starting with a letter or digit."
        )


def check_edge_name(name: str) -> None:
    """Raise ``InputError`` for an invalid name of an edge."""
    if not CAMPAIGN_NAME.fullmatch(name):
        raise InputError(
            f"Invalid name {name!r} of an edge: use 1 to 64 letters, digits, dots, dashes and underscores, "
            "starting with a letter or digit."
        )


def name_fault(name: str) -> str | None:
    """Return what is wrong with a name of a client or arm, or with an id; None if it is valid."""
    if not 1 <= len(name) <= MOST_NAME:
        return f"has {len(name)} characters, but 1 to {MOST_NAME} are allowed"
    if name.isascii() and name.isprintable():
        return None
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        return "contains a control character or half of a surrogate pair"
    return None


def check_names(kind: str, names: Iterable[str], most: int) -> None:
    """Raise ``InputError`` unless these are valid names, each once, and not too many."""
    seen: set[str] = set()
    for name in names:
        fault = name_fault(name)
        if fault:
            raise InputError(f"The {kind} {name!r} {fault}.")
        if name in seen:
            raise InputError(f"The {kind} {name!r} is listed twice: list each once.")
        seen.add(name)
    if len(seen) > most:
        raise InputError(f"The campaign has {len(seen)} {kind}s, but at most {most} are allowed.")
