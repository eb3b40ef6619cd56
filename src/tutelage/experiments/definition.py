"""What an experiment is: instances, clients, teachers and horizons, panels of them, claims about panels.

The dataclasses here are the sections of the TOML file, key by key (docs/experiments.md); pydantic checks the
types, also where one is made in Python.  ``check`` checks what needs two sections at once.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal, cast

from pydantic import Field
from pydantic.dataclasses import dataclass

from tutelage import instances, lab
from tutelage.errors import InputError
from tutelage.experiments.claim_kinds import Claim, Growth
from tutelage.experiments.strict import (
    STRICT,
    Checkpoints,
    Label,
    PanelName,
    Positive,
    Some,
    TeacherSpec,
    in_one_sentence,
)
from tutelage.policies import POLICIES
from tutelage.registry import parameters_of, split_top

CURVES = ("regret", "cost")
_SEEDS = re.compile(r"([0-9]{1,18})\.\.([0-9]{1,18})")
_MOST_SEEDS = 100_000


@in_one_sentence
@dataclass(frozen=True, config=STRICT)
class InstanceEntry:
    """``[[instances]]``: one instance, or with ``seeds`` a set of them that differ in their seed.

    ``data`` names a data set whose path is put in front of the SPEC's parameters; where it is not at hand,
    what needs it is left out.  ``runs`` is for each instance; the experiment's where left out.
    """

    label: Label
    spec: str
    seeds: str | None = None
    runs: Positive | None = None
    data: str | None = None

    def __post_init__(self) -> None:
        if self.data is not None:
            from tutelage.experiments.data_sets import data_set

            data_set(self.data)
        first = next(self.specs("ratings.csv"))
        try:
            source = instances.parse(first)
        except InputError as error:
            raise InputError(f"spec = {self.spec!r}: {error}") from None
        if self.is_set and all(item.name != "seed" for item in parameters_of(type(source))):
            raise InputError(f"spec = {self.spec!r} takes no seed, so seeds cannot make a set of it")

    @property
    def is_set(self) -> bool:
        return self.seeds is not None

    @property
    def seed_numbers(self) -> tuple[int, ...]:
        """The seeds of a set, in order; none for a single instance."""
        if self.seeds is None:
            return ()
        found = _SEEDS.fullmatch(self.seeds.strip())
        if found is None or not 0 <= int(found[2]) - int(found[1]) < _MOST_SEEDS:
            raise InputError(
                f"seeds = {self.seeds!r} is not FIRST..LAST with at most {_MOST_SEEDS} between, as in 0..99"
            )
        return tuple(range(int(found[1]), int(found[2]) + 1))

    def specs(self, path: str | None = None) -> Iterator[str]:
        """The INSTANCE of each, with the path of ``data`` and the seeds of a set filled in."""
        name, _, rest = self.spec.partition(":")
        parts = [rest] if rest.strip() else []
        if self.data is not None:
            quote = "'" if path is not None and '"' in path else '"'
            parts.insert(0, f"{quote}{path}{quote}")
        if self.seeds is None:
            yield f"{name}:{','.join(parts)}" if parts else name
        for seed in self.seed_numbers:
            yield f"{name}:{','.join([*parts, f'seed={seed}'])}"


@in_one_sentence
@dataclass(frozen=True, config=STRICT)
class ClientsEntry:
    """``[[clients]]``: how the clients play, as ``--clients`` says it."""

    label: Label
    spec: str

    def __post_init__(self) -> None:
        if not self.spec.strip():
            raise InputError("spec is empty: name a policy, as in ucb1")
        try:
            for part in split_top(self.spec, ","):
                count, star, policy = part.partition("*")
                POLICIES.parse(policy if star and count.strip().isdigit() else part)
        except InputError as error:
            raise InputError(f"spec = {self.spec!r}: {error}") from None


@in_one_sentence
@dataclass(frozen=True, config=STRICT)
class Panel:
    """``[[panels]]``: one picture of one instance (or set), one kind of clients and one horizon.

    ``quantity`` is ``regret`` or ``cost`` for curves against time, ``regret-cost`` for one against the other
    at T.  ``horizon`` may be left out where the experiment has one.
    """

    name: PanelName
    quantity: Literal["regret", "cost", "regret-cost"]
    instance: str
    clients: str
    title: str = ""
    horizon: Positive | None = None
    claims: tuple[Annotated[Claim, Field(discriminator="kind")], ...] = ()


@in_one_sentence
@dataclass(frozen=True, config=STRICT)
class Experiment:
    """A whole file.  Each instance is played with each clients, teacher and horizon.

    ``panels`` left out means one for each quantity of everything.
    """

    name: Label
    teachers: Annotated[tuple[TeacherSpec, ...], Some]
    instances: Annotated[tuple[InstanceEntry, ...], Some]
    clients: Annotated[tuple[ClientsEntry, ...], Some]
    title: str = ""
    runs: Positive = 100
    seed: Annotated[int, Field(ge=0, lt=2**63)] = lab.DEFAULT_SEED
    horizons: Annotated[tuple[Positive, ...], Some] = (lab.DEFAULT_HORIZON,)
    checkpoints: Checkpoints = "linear(count=200)"
    panels: tuple[Panel, ...] = ()

    def instance(self, label: str) -> InstanceEntry:
        """The entry of that label."""
        for entry in self.instances:
            if entry.label == label:
                return entry
        labels = ", ".join(entry.label for entry in self.instances)
        raise InputError(f"There is no instance {label!r} in {self.name}: they are {labels}.")

    def shown(self) -> tuple[Panel, ...]:
        """The panels, each with its horizon; where there are none, one for each quantity of everything."""
        if self.panels:
            return tuple(replace(panel, horizon=panel.horizon or self.horizons[0]) for panel in self.panels)
        return tuple(self._all_panels())

    def _all_panels(self) -> Iterator[Panel]:
        for instance in self.instances:
            quantities = ("regret-cost",) if instance.is_set else (*CURVES, "regret-cost")
            for clients in self.clients:
                for horizon in self.horizons:
                    parts = [instance.label, clients.label, *([str(horizon)] * (len(self.horizons) > 1))]
                    for quantity in quantities:
                        yield Panel(
                            name="-".join([*parts, quantity]),
                            title=f"{instance.label}, {clients.label}, T = {horizon:,}",
                            quantity=cast(Any, quantity),
                            instance=instance.label,
                            clients=clients.label,
                            horizon=horizon,
                        )

    def only(self, names: set[str]) -> "Experiment":
        """The experiment with these panels alone, and of the matrix what they show."""
        panels = tuple(panel for panel in self.panels if panel.name in names)
        return replace(
            self,
            panels=panels,
            instances=tuple(
                entry for entry in self.instances if entry.label in {panel.instance for panel in panels}
            ),
            clients=tuple(
                entry for entry in self.clients if entry.label in {panel.clients for panel in panels}
            ),
        )


def check(experiment: Experiment, where: str) -> None:
    """Raise ``InputError`` where sections do not fit each other; ``where`` names the file."""
    for section, key, given in (
        ("[[instances]]", "label", [entry.label for entry in experiment.instances]),
        ("[[clients]]", "label", [entry.label for entry in experiment.clients]),
        ("[[panels]]", "name", [panel.name for panel in experiment.panels]),
        ("the head of the file", "teachers", list(experiment.teachers)),
        ("the head of the file", "horizons", [str(horizon) for horizon in experiment.horizons]),
    ):
        for each in given:
            if given.count(each) > 1:
                raise InputError(f"{where}: {key} {each!r} in {section} is given twice: leave one.")
    if not all(entry.is_set for entry in experiment.instances):
        for horizon in experiment.horizons:
            try:
                lab.checkpoint_rounds(experiment.checkpoints, horizon)
            except InputError as error:
                raise InputError(f"{where}: checkpoints with the horizon {horizon}: {error}") from None
    for number, panel in enumerate(experiment.panels, start=1):
        _check_panel(experiment, panel, f"{where}: [[panels]] number {number} ({panel.name!r})")


def _check_panel(experiment: Experiment, panel: Panel, where: str) -> None:
    for key, entries in (("instance", experiment.instances), ("clients", experiment.clients)):
        labels = [entry.label for entry in cast(Any, entries)]
        if getattr(panel, key) not in labels:
            raise InputError(f"{where}: {key} = {getattr(panel, key)!r} is none of {', '.join(labels)}.")
    horizons = ", ".join(str(horizon) for horizon in experiment.horizons)
    if panel.horizon is None and len(experiment.horizons) > 1:
        raise InputError(f"{where} lacks the key horizon: name one of {horizons}.")
    if panel.horizon is not None and panel.horizon not in experiment.horizons:
        raise InputError(f"{where}: horizon = {panel.horizon} is none of {horizons}.")
    if panel.quantity in CURVES and experiment.instance(panel.instance).is_set:
        raise InputError(
            f"{where}: quantity = {panel.quantity!r} is against time, but a set of instances is kept at its "
            "horizon alone: use regret-cost."
        )
    for number, claim in enumerate(panel.claims, start=1):
        _check_claim(experiment, panel, claim, f"{where}, [[panels.claims]] number {number}")


def _check_claim(experiment: Experiment, panel: Panel, claim: Claim, where: str) -> None:
    for key in ("teachers", "than"):
        for spec in getattr(claim, key, ()):
            if spec not in experiment.teachers:
                raise InputError(
                    f"{where}: {spec} in {key} is none of the teachers {', '.join(experiment.teachers)}."
                )
    if hasattr(claim, "quantity") and claim.quantity is None and panel.quantity not in CURVES:
        raise InputError(f"{where} lacks the key quantity: say regret or cost.")
    if isinstance(claim, Growth) and experiment.instance(panel.instance).is_set:
        raise InputError(
            f"{where}: kind = 'growth' needs curves, and a set of instances is kept at its horizon alone."
        )
