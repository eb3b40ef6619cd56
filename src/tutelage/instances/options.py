"""What every instance source takes (``rewards=``, ``weights=``, counts, a seed) and the name it gives."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray

from tutelage.distributions import DISTRIBUTIONS, parse_distribution
from tutelage.distributions.base import Samples
from tutelage.errors import InputError
from tutelage.instances.base import Instance, check_weights, equal_weights
from tutelage.instances.files import is_file, parse_json, read_text
from tutelage.registry import parameter, parameters_of, split_top, write_value

_MOST_MEANS = 100_000_000
NO_SAMPLES_REMEDY = (
    "use rewards=bernoulli, beta(10) or constant, or a source that observed rewards (movielens, radio)"
)


def rewards_option() -> Any:
    """The field ``distribution`` of a source."""
    return parameter(
        "bernoulli", help="how rewards are drawn: bernoulli, beta(concentration), empirical or constant"
    )


def weights_option() -> Any:
    """The field ``weights`` of a source."""
    return parameter(None, help="the clients' weights in the global model, a;b;c or a file; equal by default")


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
    """The instance of a source, under its law and weights.

    ``own_weights`` are those of the data; an explicit ``weights=`` wins over them.  ``resolved`` holds the
    parameters whose value was only found while loading (a recognised scale), for the instance's name.
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
        name=canonical(kind, source, {**(resolved or {}), "rewards": DISTRIBUTIONS.spec(distribution)}),
        local_means=local_means,
        weights=weights,
        rewards=distribution,
        client_names=client_names,
        arm_names=arm_names,
        notes=tuple(notes),
        **extra,
    )


def canonical(kind: str, source: Any, resolved: Mapping[str, Any]) -> str:
    """The INSTANCE with every parameter spelled out, so that it reproduces the instance."""
    parts = []
    for item in parameters_of(type(source)):
        value = resolved.get(item.name, getattr(source, item.name))
        if item.name == "path":
            parts.append(_quoted(str(value), ",:=()"))
        elif value is not None:
            shown = _quoted(value, "") if isinstance(value, str) else write_value(value)
            parts.append(f"{item.name}={shown}")
    return f"{kind}:{','.join(parts)}" if parts else kind


def _quoted(text: str, special: str) -> str:
    """The text as an INSTANCE writes it: in quotes where it would be read otherwise without them."""
    try:
        plain = (
            len(split_top(text, ",")) == 1 and text == text.strip() and not set(text) & set("\"'" + special)
        )
    except InputError:
        plain = False
    if plain:
        return text
    return f"'{text}'" if '"' in text else f'"{text}"'


def whole(source: str, name: str, value: int, least: int = 1) -> int:
    """The value, if it is at least ``least``; else ``InputError``."""
    if value < least:
        raise InputError(f"{source}: {name}={value} is too small; give {least} or a larger whole number.")
    return value


def shape(source: str, clients: int, arms: int) -> tuple[int, int]:
    """(M, K), if both are at least 1 and the means fit in memory; else ``InputError``."""
    if whole(source, "clients", clients) * whole(source, "arms", arms) > _MOST_MEANS:
        raise InputError(
            f"{source}: {clients} clients x {arms} arms are more than {_MOST_MEANS} means; ask for fewer."
        )
    return clients, arms


def generators(source: str, seed: int, count: int = 1) -> list[Generator]:
    """Independent generators from a seed; a negative seed is an ``InputError``."""
    if seed < 0:
        raise InputError(f"{source}: seed={seed} is negative; give 0 or a larger whole number.")
    return [default_rng(child) for child in SeedSequence(seed).spawn(count)]


def shuffled(size: int, generator: Generator) -> NDArray[np.int64]:
    """0 .. size - 1 in random order: by uniform keys, so it stays the same when numpy's shuffle changes."""
    return np.argsort(generator.random(size), kind="stable").astype(np.int64)


def read_weights(text: str, num_clients: int) -> NDArray[np.float64]:
    """``"0.2;0.3;0.5"``, or a file of weights, as float64 [M].

    A file holds one number a line, one line of numbers with commas between, or JSON: a list, or an object
    whose ``weights`` is one.
    """
    if ";" in text and not is_file(text):
        weights = [number(part, f"weights={text}") for part in text.split(";")]
    elif _is_number(text) and not is_file(text):
        weights = [float(text)]
    else:
        weights = list(_weights_in(text))
    array = np.array(weights, dtype=np.float64)
    check_weights(array, num_clients)
    return array


def _weights_in(path: str) -> Iterator[float]:
    content = read_text(path, "weights").strip()
    if not content:
        raise InputError(f"The file of weights {path!r} is empty; write one number a line.")
    if content[0] in "[{":
        listed = parse_json(content, path)
        yield from json_numbers(
            listed.get("weights") if isinstance(listed, dict) else listed, f"the weights in {path!r}"
        )
        return
    lines = [line.strip() for line in content.splitlines() if line.strip()]
    if len(lines) == 1:
        lines = [part.strip() for part in lines[0].replace(";", ",").split(",")]
    elif lines[0].strip("\"'").lower() in ("weight", "weights"):
        del lines[0]
    for line in lines:
        yield number(line, f"the file of weights {path!r}")


def json_numbers(listed: Any, where: str) -> list[float]:
    """A JSON or TOML list of numbers; a word, ``true`` or a missing list is an ``InputError``."""
    if not isinstance(listed, list):
        raise InputError(f"There is no list of numbers for {where}; write one, as in [0.2, 0.8].")
    return [_json_number(value, where) for value in listed]


def _json_number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{json.dumps(value, default=str)} among {where} is not a number.")
    try:
        return float(value)
    except OverflowError:
        raise InputError(
            f"A whole number of {int(value).bit_length()} bits among {where} is too large; correct it."
        ) from None


def number(text: str, where: str) -> float:
    """A finite number as people write it; ``InputError`` with a hint where a comma stands for a point."""
    stripped = text.strip()
    if not _is_number(stripped):
        comma = "; write a decimal point, not a comma" if _is_number(stripped.replace(",", ".")) else ""
        shown = f"{stripped!r} in {where} is not a number" if stripped else f"A number is missing in {where}"
        raise InputError(f"{shown}{comma}.")
    return float(stripped)


def _is_number(text: str) -> bool:
    try:
        return "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False
