"""The routes of the API: those of the OpenAPI document, for programs; pages for people have routes of their own."""

from collections.abc import Container

from tutelage.service.api.campaign_routes import campaign_routes
from tutelage.service.api.edge_routes import edge_routes
from tutelage.service.api.key_routes import key_routes
from tutelage.service.api.ledger_routes import ledger_routes
from tutelage.service.api.monitoring_routes import monitoring_routes
from tutelage.service.api.pull_routes import pull_routes
from tutelage.service.api.route import Route
from tutelage.service.api.uplink import Uplink
from tutelage.service.campaigns.handoff import Handoff, Readers
from tutelage.service.monitoring.monitor import Monitor


def api_routes(
    handoff: Handoff,
    readers: Readers,
    monitor: Monitor,
    own_teachers: Container[str] = (),
    uplink: Uplink | None = None,
) -> list[Route]:
    """The routes; ``own_teachers`` are teachers of installed packages that campaigns may use."""
    return [
        *pull_routes(handoff, uplink),
        *campaign_routes(handoff, readers, own_teachers),
        *edge_routes(handoff, readers),
        *ledger_routes(handoff, readers),
        *key_routes(readers),
        *monitoring_routes(handoff, monitor),
    ]
