"""What an operator says of a campaign when it is created, checked where it enters."""

import dataclasses
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from tutelage.errors import InputError
from tutelage.service.campaigns.campaign import CampaignSetup
from tutelage.service.campaigns.scale import RewardScale
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Problem, Teacher
from tutelage.teachers.checks import ask_segments
from tutelage.text import counted

RULES_VERSION = 1  # of all that makes entries and revealed rewards, the sentences of reports too
MOST_NAME = 128
MOST_CLIENTS, MOST_ARMS, MOST_HORIZON = 100_000, 10_000, 2**53
MOST_CELLS = 1_000_000  # clients times arms: some 300 MB of memory
_CAMPAIGN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_WEIGHT_SUM_MARGIN = 1e-9


@dataclass(frozen=True)
class Settings:
    """A campaign as it was created: names, horizon, teacher, range of rewards, weights.

    ``clients`` are those declared; with ``register`` there may be none, and more come until it starts.
    ``weights`` belong to the clients in their order; None is 1/M each.  ``seed`` is the teacher's.
    Raises ``InputError`` for whatever no campaign can have.
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

    def __post_init__(self) -> None:
        check_campaign_name(self.name)
        check_names("arm", self.arms, MOST_ARMS)
        check_names("client", self.clients, MOST_CLIENTS)
        if not self.arms:
            raise InputError(f"The campaign {self.name} has no arm: name at least one.")
        if not self.clients and not self.open_registration:
            raise InputError(f"The campaign {self.name} has no client: name them, or let them register.")
        if len(self.clients) * len(self.arms) > MOST_CELLS:
            raise InputError(
                f"{len(self.clients)} clients times {len(self.arms)} arms are more than the {MOST_CELLS} "
                "that a campaign can have."
            )
        if not 1 <= self.horizon <= MOST_HORIZON:
            raise InputError(f"The horizon {self.horizon} lies outside 1 to {MOST_HORIZON}.")
        RewardScale(self.low, self.high)
        if self.weights is not None:
            self._check_weights(self.weights)
        teacher = parse_teacher(self.teacher)
        if self.clients:
            ask_segments(teacher, self.problem(self.clients))

    def _check_weights(self, weights: tuple[float, ...]) -> None:
        if self.open_registration:
            raise InputError(
                "A campaign that clients register in takes no weights: declare its clients instead."
            )
        if len(weights) != len(self.clients):
            told = counted(len(weights), "weight")
            raise InputError(f"The campaign has {told} for {counted(len(self.clients), 'client')}.")
        for client, weight in zip(self.clients, weights, strict=True):
            if not 0 < weight <= 1:
                raise InputError(f"The weight {weight} of client {client!r} lies outside (0, 1].")
        if abs(math.fsum(weights) - 1.0) > _WEIGHT_SUM_MARGIN:
            raise InputError(f"The weights sum to {math.fsum(weights)!r}, not to 1.")

    def problem(self, clients: Sequence[str]) -> Problem:
        """What the teacher is told, with these clients."""
        size = len(clients)
        weights = self.weights if self.weights is not None else (1.0 / size,) * size
        return Problem(size, len(self.arms), self.horizon, weights)

    def setup(self, clients: Sequence[str]) -> CampaignSetup:
        """The campaign as it begins, with these clients."""
        teacher = parse_teacher(self.teacher)
        return CampaignSetup(teacher, self.problem(clients), RewardScale(self.low, self.high), self.seed)

    def encode(self) -> str:
        """The settings as JSON."""
        return msgspec.json.encode(dataclasses.asdict(self)).decode()


def decode_settings(text: str) -> Settings:
    """What :meth:`Settings.encode` wrote."""
    return msgspec.json.decode(text, type=Settings)


def order_weights(
    weights: Sequence[float] | Mapping[str, float] | None, clients: Sequence[str]
) -> tuple[float, ...] | None:
    """Weights in client order, from a list in that order or a mapping by name."""
    if weights is None or not isinstance(weights, Mapping):
        return None if weights is None else tuple(weights)
    if weights.keys() != set(clients):
        odd = min(set(clients) ^ weights.keys())
        raise InputError(f"The weights and the clients differ: {odd!r} is only in one of them.")
    return tuple(weights[client] for client in clients)


def parse_teacher(spec: str) -> Teacher:
    """The teacher of a SPEC, if a real system can run it; else ``InputError``."""
    teacher: Teacher = TEACHERS.parse(spec)
    if teacher.lab_only:
        raise InputError(f"The teacher {spec} needs what only a simulation can see: take another.")
    if teacher.needs_best_arm:
        name = spec.partition("(")[0].strip()
        raise InputError(f"The teacher {spec} must be told its target: write it as in {name}(target=0).")
    return teacher


def is_campaign_name(name: str) -> bool:
    """Whether a campaign can have this name."""
    return _CAMPAIGN.fullmatch(name) is not None


def check_campaign_name(name: str) -> None:
    """Raise ``InputError`` unless a campaign can have this name."""
    if not is_campaign_name(name):
        raise InputError(
            f"{name!r} is no name for a campaign: use 1 to 64 letters, digits, dots, dashes and underscores, "
            "the first a letter or digit."
        )


def name_fault(name: str) -> str | None:
    """What is wrong with the name of a client or an arm, or with an id; None if nothing."""
    if not 1 <= len(name) <= MOST_NAME:
        return f"has {len(name)} characters, not 1 to {MOST_NAME}"
    if name.isascii() and name.isprintable():
        return None
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        return "holds a control character or half of a surrogate pair"
    return None


def check_names(kind: str, names: Iterable[str], most: int) -> None:
    """Raise ``InputError`` unless these are names, each once, and not too many."""
    seen: set[str] = set()
    for name in names:
        fault = name_fault(name)
        if fault:
            raise InputError(f"The {kind} {name!r} {fault}.")
        if name in seen:
            raise InputError(f"The {kind} {name!r} is named twice.")
        seen.add(name)
    if len(seen) > most:
        raise InputError(f"{len(seen)} {kind}s are more than the {most} that a campaign can have.")
