"""``tutelage stream``: answer the pulls of a Redis stream with a campaign's server."""

import logging
import signal
import socket
import sys
import threading
from typing import Annotated

from tutelage.cli.completion import complete_campaign
from tutelage.cli.options import argument, number_option, option, whole_option
from tutelage.cli.server_options import Server
from tutelage.cli.server_requests import campaign_path, connect, report_refusal
from tutelage.errors import InputError

_MOST_SECONDS = 86_400.0
_LONGEST_NAME = 80  # characters of a stream's name, which ids of pulls begin with


def stream(
    url: Annotated[
        str, argument("URL", "Redis server, as in redis://HOST:PORT or unix:///SOCKET.", envvar="TUTELAGE_REDIS")
    ],
    campaign: Annotated[str, option("NAME", "Name of the campaign.", autocompletion=complete_campaign)],
    pulls: Annotated[str, option("STREAM", "Name of the stream to read pulls from, at most 80 characters.")] = "pulls",
    responses: Annotated[str, option("STREAM", "Name of the stream to write responses to.")] = "responses",
    group: Annotated[
        str, option("NAME", "Consumer group of the adapters that share the stream of pulls.")
    ] = "tutelage",
    consumer: Annotated[
        str | None,
        option(
            "NAME",
            "Name of this adapter in the consumer group, different for each adapter.",
            show_default="the host's name",
        ),
    ] = None,
    batch: Annotated[int, whole_option("N", "Maximum number of pulls in a request, from 1 to 10000.")] = 1_000,
    claim_after: Annotated[
        float,
        number_option(
            "SECONDS",
            "Take over pulls that another adapter has left unanswered for this many seconds, from 1 to 86400.",
        ),
    ] = 60.0,
    max_responses: Annotated[
        int, whole_option("N", "Approximate number of newest responses to keep in the stream; 0 keeps all.")
    ] = 0,
    server: Server = None,
) -> None:
    """Answer the pulls of a Redis stream until interrupted.

    Each entry of the stream of pulls gets exactly one response, which is written to another stream.  The key for
    the server is read from TUTELAGE_KEY.
    """
    consumer = consumer or socket.gethostname()
    for name, value in (("--pulls", pulls), ("--responses", responses), ("--group", group)):
        if not value or not value.isprintable() or (name == "--pulls" and len(value) > _LONGEST_NAME):
            raise InputError(f"Invalid {name} {value!r}: use printable text, for --pulls at most 80 characters.")
    if pulls == responses:
        raise InputError(f"--pulls and --responses are the same stream {pulls!r}: use two.")
    if not 1 <= batch <= 10_000:
        raise InputError(f"Invalid --batch {batch}: use a whole number from 1 to 10000.")
    if not 1 <= claim_after <= _MOST_SECONDS:
        raise InputError(f"Invalid --claim-after {claim_after:g}: use 1 to 86400 seconds.")
    if max_responses < 0:
        raise InputError(f"Invalid --max-responses {max_responses}: use a whole number of at least 0.")
    import httpx

    from tutelage.redis_adapter import RedisAdapter, StreamOptions, connect_redis
    from tutelage.service.logs import configure_logging
    from tutelage.service.start_screen import is_terminal

    options = StreamOptions(pulls, responses, group, consumer, batch, claim_after, max_responses)
    path, redis, ended = campaign_path(campaign), connect_redis(url), threading.Event()
    signal.set_wakeup_fd(-1)  # from here on Ctrl-C ends the adapter after the batch in hand, as SIGTERM does
    for number_of_signal in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number_of_signal, lambda *_: ended.set())
    log = configure_logging("info", as_text=is_terminal(sys.stderr))
    try:
        with connect(server) as http:
            try:
                answer = http.get(f"{path}/access")
            except httpx.TransportError:
                pass  # the adapter waits for the server
            else:
                if answer.is_client_error:
                    report_refusal(answer, server)
            adapter = RedisAdapter(redis, http, campaign, options)
            logger = logging.getLogger("tutelage.stream")
            logger.info("answering the pulls of the stream %s", pulls)
            adapter.run(ended)
            logger.info("ended; responses written: %d", adapter.written)
    finally:
        redis.close()
        log.finish()
