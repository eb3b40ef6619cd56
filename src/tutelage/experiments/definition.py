"""What an experiment is: instances, clients, teachers and horizons, panels of them, and claims about panels.

The structs here are the sections of the TOML file, key by key (docs/experiments.md).  Each checks its own
values; ``check_sections`` checks what involves two sections.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from tutelage import instances, simulator
from tutelage.errors import InputError
from tutelage.experiments.claims import Claim, Growth
from tutelage.experiments.data_sets import find_data_set
from tutelage.experiments.section import Label, PanelName, Positive, Section, TeacherSpecs, label_teachers
from tutelage.policies import POLICIES
from tutelage.registry import split_top
from tutelage.request import Engine

CURVES = ("regret", "cost")
PanelQuantity = Literal["regret", "cost", "regret-cost"]
Checkpoints = Annotated[
    str | int | tuple[int, ...],
    Meta(description="linear(count=200), logarithmic(count=200), a whole number, or a list of rounds"),
]
_SEEDS = re.compile(r"([0-9]{1,18})\.\.([0-9]{1,18})")
_MOST_SEEDS = 100_000


class InstanceEntry(Section, frozen=True, kw_only=True):
    """``[[instances]]``: one instance, or with ``seeds`` a set of instances that differ in their seed.

    ``data`` names a data set whose path is put before the SPEC's parameters; where the data set is not found,
    panels that need it are left out.  ``runs`` is the number of runs on each instance, by default that of the
    experiment.
    """

    label: Label
    spec: str
    seeds: str | None = None
    runs: Positive | None = None
    data: str | None = None

    def check(self) -> None:
        if self.data is not None:
            find_data_set(self.data)
        first = next(self.specs("ratings.csv"))
        try:
            instances.parse(first)
        except InputError as error:
            raise InputError(f"invalid spec {self.spec!r}: {error}") from None

    @property
    def is_set(self) -> bool:
        return self.seeds is not None

    @property
    def seed_numbers(self) -> tuple[int, ...]:
        """The seeds of a set, in order; empty for a single instance."""
        if self.seeds is None:
            return ()
        found = _SEEDS.fullmatch(self.seeds.strip())
        if found is None or not 0 <= int(found[2]) - int(found[1]) < _MOST_SEEDS:
            raise InputError(
                f"invalid seeds {self.seeds!r}: use FIRST..LAST, as in 0..99, with at most {_MOST_SEEDS:,} seeds."
            )
        return tuple(range(int(found[1]), int(found[2]) + 1))

    def specs(self, path: str | None = None) -> Iterator[str]:
        """Yield the SPEC of each instance, with the path of ``data`` and the seeds of a set filled in."""
        name, _, rest = self.spec.partition(":")
        parts = [rest] if rest.strip() else []
        if self.data is not None:
            quote = "'" if path is not None and '"' in path else '"'
            parts.insert(0, f"{quote}{path}{quote}")
        if self.seeds is None:
            yield f"{name}:{','.join(parts)}" if parts else name
        for seed in self.seed_numbers:
            yield f"{name}:{','.join([*parts, f'seed={seed}'])}"


class ClientsEntry(Section, frozen=True, kw_only=True):
    """``[[clients]]``: the clients' policies, written as for ``--clients``."""

    label: Label
    spec: str

    def check(self) -> None:
        if not self.spec.strip():
            raise InputError("invalid spec '': name a policy, as in ucb1.")
        try:
            for part in split_top(self.spec, ","):
                count, star, policy = part.partition("*")
                POLICIES.parse(policy if star and count.strip().isdigit() else part)
        except InputError as error:
            raise InputError(f"invalid spec {self.spec!r}: {error}") from None


class Panel(Section, frozen=True, kw_only=True):
    """``[[panels]]``: one picture of one instance (or set), one kind of clients and one horizon.

    ``quantity`` is ``regret`` or ``cost`` for curves over time, ``regret-cost`` for regret against cost at T.
    ``horizon`` may be left out where the experiment has only one.
    """

    name: PanelName
    quantity: PanelQuantity
    instance: str
    clients: str
    title: str = ""
    horizon: Positive | None = None
    claims: tuple[Claim, ...] = ()


class Experiment(Section, frozen=True, kw_only=True):
    """A whole file: every instance is simulated with all clients, teachers and horizons.

    Without ``panels`` there is one panel for each quantity of every instance, clients and horizon.
    """

    name: Label
    teachers: TeacherSpecs
    instances: Annotated[
        tuple[InstanceEntry, ...], Meta(min_length=1, description="one or more [[instances]] sections")
    ]
    clients: Annotated[tuple[ClientsEntry, ...], Meta(min_length=1, description="one or more [[clients]] sections")]
    title: str = ""
    runs: Positive = 100
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="a whole number from 0 to 2^63 - 1")] = (
        simulator.DEFAULT_SEED
    )
    horizons: Annotated[tuple[Positive, ...], Meta(min_length=1)] = (simulator.DEFAULT_HORIZON,)
    checkpoints: Checkpoints = "linear(count=200)"
    engine: Engine = simulator.DEFAULT_ENGINE
    panels: Annotated[tuple[Panel, ...], Meta(description="[[panels]] sections")] = ()

    def check(self) -> None:
        label_teachers(self, "teachers")
        if not isinstance(self.checkpoints, tuple):
            try:
                simulator.checkpoint_rounds(self.checkpoints, 1)
            except InputError as error:
                raise InputError(f"invalid checkpoints: {error}") from None

    def instance(self, label: str) -> InstanceEntry:
        """Return the entry of that label; raise ``InputError`` if it does not exist."""
        for entry in self.instances:
            if entry.label == label:
                return entry
        labels = ", ".join(entry.label for entry in self.instances)
        raise InputError(f"Unknown instance {label!r} in {self.name}: the instances are {labels}.")

    def all_panels(self) -> tuple[Panel, ...]:
        """Return the panels with their horizons; without ``panels`` one for each quantity of everything."""
        if self.panels:
            return tuple(replace(panel, horizon=panel.horizon or self.horizons[0]) for panel in self.panels)
        return tuple(self._default_panels())

    def _default_panels(self) -> Iterator[Panel]:
        for instance in self.instances:
            quantities: tuple[PanelQuantity, ...] = ("regret", "cost", "regret-cost")
            for clients in self.clients:
                for horizon in self.horizons:
                    parts = [instance.label, clients.label, *([str(horizon)] * (len(self.horizons) > 1))]
                    for quantity in quantities[2:] if instance.is_set else quantities:
                        yield Panel(
                            name="-".join([*parts, quantity]),
                            title=f"{instance.label}, {clients.label}, T = {horizon:,}",
                            quantity=quantity,
                            instance=instance.label,
                            clients=clients.label,
                            horizon=horizon,
                        )

    def select(self, names: set[str]) -> "Experiment":
        """Return the experiment with these panels only, and with only the instances and clients they show."""
        panels = tuple(panel for panel in self.panels if panel.name in names)
        shown_instances = {panel.instance for panel in panels}
        shown_clients = {panel.clients for panel in panels}
        return replace(
            self,
            panels=panels,
            instances=tuple(entry for entry in self.instances if entry.label in shown_instances),
            clients=tuple(entry for entry in self.clients if entry.label in shown_clients),
        )


def check_sections(experiment: Experiment, file: str) -> None:
    """Raise ``InputError`` where sections do not fit each other; ``file`` names the file in the message."""
    labels = [entry.label for entry in experiment.instances]
    kinds = [entry.label for entry in experiment.clients]
    for section, key, values in (
        ("[[instances]]", "label", labels),
        ("[[clients]]", "label", kinds),
        ("[[panels]]", "name", [panel.name for panel in experiment.panels]),
        ("top level", "teachers", list(experiment.teachers)),
        ("top level", "horizons", [str(horizon) for horizon in experiment.horizons]),
    ):
        for value in values:
            if values.count(value) > 1:
                raise InputError(f"{file}: {section}: {key} {value!r} appears twice: remove one.")
    if not all(entry.is_set for entry in experiment.instances):
        for horizon in experiment.horizons:
            try:
                simulator.checkpoint_rounds(experiment.checkpoints, horizon)
            except InputError as error:
                raise InputError(f"{file}: top level: invalid checkpoints for the horizon {horizon}: {error}") from None
    for number, panel in enumerate(experiment.panels, start=1):
        place = f"{file}: [[panels]] number {number} ({panel.name!r})"
        _check_label(place, "instance", panel.instance, labels)
        _check_label(place, "clients", panel.clients, kinds)
        _check_panel(experiment, panel, place)


def _check_label(place: str, key: str, value: object, allowed: list[str]) -> None:
    if str(value) not in allowed:
        raise InputError(f"{place}: invalid {key} {value!r}: use one of {', '.join(allowed)}.")


def _check_panel(experiment: Experiment, panel: Panel, place: str) -> None:
    horizons = [str(horizon) for horizon in experiment.horizons]
    if panel.horizon is None and len(horizons) > 1:
        raise InputError(f"{place}: missing key 'horizon': use one of {', '.join(horizons)}.")
    if panel.horizon is not None:
        _check_label(place, "horizon", panel.horizon, horizons)
    if panel.quantity in CURVES and experiment.instance(panel.instance).is_set:
        raise InputError(
            f"{place}: invalid quantity {panel.quantity!r}: a set of instances is stored at its horizon only "
            "and has no curves over time, so use regret-cost."
        )
    for number, claim in enumerate(panel.claims, start=1):
        _check_claim(experiment, panel, claim, f"{place}, [[panels.claims]] number {number}")


def _check_claim(experiment: Experiment, panel: Panel, claim: Claim, place: str) -> None:
    for key in ("teachers", "than"):
        for label in getattr(claim, key, ()):
            _check_label(place, f"teacher in {key}", label, list(experiment.teachers))
    if getattr(claim, "quantity", panel.quantity) is None and panel.quantity not in CURVES:
        raise InputError(f"{place}: missing key 'quantity': use regret or cost.")
    if isinstance(claim, Growth) and experiment.instance(panel.instance).is_set:
        raise InputError(
            f"{place}: invalid kind 'growth': it needs curves, and a set of instances is stored at its "
            "horizon only; use another kind."
        )
