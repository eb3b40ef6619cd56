"""Build an instance from the parameters of its source and from its local means.

The parameters that all sources share (``rewards=``, ``weights=``) are declared here once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray

from tutelage import text
from tutelage.distributions import DISTRIBUTIONS, parse_distribution
from tutelage.distributions.base import Samples
from tutelage.errors import InputError
from tutelage.instances.base import Instance, equal_weights
from tutelage.instances.readers.numbers import read_weights
from tutelage.registry import parameter, parameters_of, split_top, write_value
from tutelage.text import format_count

_MOST_MEANS = 100_000_000
_MOST_LISTED = 12  # names in a note
NO_SAMPLES_REMEDY = "use rewards=bernoulli, beta(10) or constant, or a source with observed rewards (movielens, radio)"


def rewards_parameter() -> Any:
    """Return the field ``rewards`` of a source."""
    return parameter("bernoulli", help="reward distribution, as in bernoulli or beta(20)")


def weights_parameter() -> Any:
    """Return the field ``weights`` of a source."""
    return parameter(None, help="weights of the clients in the global means, a;b;c or a file; equal by default")


def seed_parameter(what: str) -> Any:
    """Return the field ``seed`` of a source that draws ``what`` at random."""
    return parameter(0, help=f"seed of the random {what}", minimum=0)


def build(
    kind: str,
    source: Any,
    local_means: NDArray[np.float64],
    *,
    own_weights: NDArray[np.float64] | None = None,
    client_names: tuple[str, ...] | None = None,
    arm_names: tuple[str, ...] | None = None,
    samples: Samples | None = None,
    no_samples_remedy: str = NO_SAMPLES_REMEDY,
    notes: Sequence[tuple[str, str]] = (),
    resolved: Mapping[str, Any] | None = None,
) -> Instance:
    """Return the instance of a source, with its reward distribution and weights.

    ``own_weights`` are those of the data; ``weights=`` takes precedence over them.  ``resolved`` holds
    parameters whose value was found while loading (a recognised scale), for the name of the instance.
    """
    distribution = parse_distribution(source.rewards)
    if distribution.needs_samples and samples is None:
        raise InputError(
            f"rewards={DISTRIBUTIONS.spec(distribution)} needs observed rewards, and {kind!r} has none: "
            f"{no_samples_remedy}."
        )
    num_clients = local_means.shape[0]
    weights = equal_weights(num_clients) if own_weights is None else own_weights
    if source.weights is not None:
        weights = read_weights(source.weights, num_clients)
    extra: dict[str, Any] = {} if samples is None else {"samples": samples}
    return Instance(
        name=format_name(kind, source, {**(resolved or {}), "rewards": DISTRIBUTIONS.spec(distribution)}),
        local_means=local_means,
        weights=weights,
        rewards=distribution,
        client_names=client_names,
        arm_names=arm_names,
        notes=tuple(notes),
        **extra,
    )


def describe_names(
    clients: tuple[str, ...] | None, arms: tuple[str, ...] | None, num_clients: int, num_arms: int
) -> tuple[str, str]:
    """The note of how data were read: how many clients and arms, and what the data call them."""
    return (
        "read as",
        f"{format_count(num_clients, 'client')} {_list(clients)}, {format_count(num_arms, 'arm')} {_list(arms)}",
    )


def _list(names: tuple[str, ...] | None) -> str:
    if names is None:
        return "without names"
    listed = ", ".join(map(text.format_name, names[:_MOST_LISTED]))
    return f"({listed}, ...)" if len(names) > _MOST_LISTED else f"({listed})"


def format_name(kind: str, source: Any, resolved: Mapping[str, Any]) -> str:
    """Return the INSTANCE with every parameter, so that it makes the same instance again."""
    parts = []
    for item in parameters_of(type(source)):
        value = resolved.get(item.name, getattr(source, item.name))
        if item.name == "path":
            parts.append(_quote(str(value), ",:=()"))
        elif value is not None:
            written = _quote(value, "") if isinstance(value, str) else write_value(value)
            parts.append(f"{item.name}={written}")
    return f"{kind}:{','.join(parts)}" if parts else kind


def _quote(text: str, special: str) -> str:
    """Return the text as an INSTANCE writes it, in quotes where these are needed."""
    try:
        plain = len(split_top(text, ",")) == 1 and text == text.strip() and not set(text) & set("\"'" + special)
    except InputError:
        plain = False
    if plain:
        return text
    return f"'{text}'" if '"' in text else f'"{text}"'


def check_size(source: str, clients: int, arms: int) -> tuple[int, int]:
    """Return (M, K).  Raises ``InputError`` where so many means do not fit in memory."""
    if clients * arms > _MOST_MEANS:
        raise InputError(f"{source}: {clients} clients x {arms} arms are more than {_MOST_MEANS} means: use fewer.")
    return clients, arms


def make_generators(seed: int, count: int = 1) -> list[Generator]:
    """Return independent generators from a seed."""
    return [default_rng(child) for child in SeedSequence(seed).spawn(count)]


def shuffle(size: int, generator: Generator) -> NDArray[np.int64]:
    """Return 0 .. size - 1 in random order.

    The order is that of uniform keys, so it stays the same when numpy changes its own shuffle.
    """
    return np.argsort(generator.random(size), kind="stable").astype(np.int64)
