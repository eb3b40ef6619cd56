"""The route that lists keys; they are made, rotated and revoked by commands on the store only."""

from tutelage.service.api.ledger_pages import describe_key
from tutelage.service.api.route import Call, Route
from tutelage.service.api.schemas import KeyList
from tutelage.service.campaigns.handoff import Readers


def key_routes(readers: Readers) -> list[Route]:
    """``GET /v1/keys``."""

    async def list_keys(call: Call) -> KeyList:
        """List all keys with their rights, their expiry and their last use, without secrets."""
        return KeyList([describe_key(row) for row in await readers.read(lambda reader: reader.keys())])

    return [Route("GET", "/v1/keys", list_keys, "admin", "List all keys", tag="keys", answer=KeyList)]
