"""``tutelage stream``: answer the pulls of a Redis stream with a campaign's server."""

import logging
import signal
import socket
import sys
import threading
from typing import Annotated

import typer

from tutelage.cli.completion import complete_campaign
from tutelage.cli.options import number, whole_number
from tutelage.cli.server_options import Server
from tutelage.cli.server_requests import campaign_path, connect, report_refusal
from tutelage.errors import InputError

_MOST_SECONDS = 86_400.0
_LONGEST_NAME = 80  # characters of a stream's name, which ids of pulls begin with


def stream(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            envvar="TUTELAGE_REDIS",
            show_default=False,
            help="Redis server, as in redis://HOST:PORT or unix:///SOCKET.",
        ),
    ],
    campaign: Annotated[
        str,
        typer.Option(
            metavar="NAME", show_default=False, help="Name of the campaign.", autocompletion=complete_campaign
        ),
    ],
    pulls: Annotated[
        str, typer.Option(metavar="STREAM", help="Name of the stream to read pulls from, at most 80 characters.")
    ] = "pulls",
    responses: Annotated[
        str, typer.Option(metavar="STREAM", help="Name of the stream to write responses to.")
    ] = "responses",
    group: Annotated[
        str, typer.Option(metavar="NAME", help="Consumer group of the adapters that share the stream of pulls.")
    ] = "tutelage",
    consumer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default="the host's name",
            help="Name of this adapter in the consumer group, different for each adapter.",
        ),
    ] = None,
    batch: Annotated[
        int,
        typer.Option(metavar="N", parser=whole_number, help="Maximum number of pulls in a request, from 1 to 10000."),
    ] = 1_000,
    claim_after: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            parser=number,
            help="Take over pulls that another adapter has left unanswered for this many seconds, from 1 to 86400.",
        ),
    ] = 60.0,
    max_responses: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=whole_number,
            help="Approximate number of newest responses to keep in the stream; 0 keeps all.",
        ),
    ] = 0,
    server: Server = None,
) -> None:
    """Answer the pulls of a Redis stream until interrupted.

    Each entry of the stream of pulls gets exactly one response, which is written to another stream.  The key for
    the server is read from TUTELAGE_KEY.
    """
    consumer = consumer or socket.gethostname()
    for option, name in (("--pulls", pulls), ("--responses", responses), ("--group", group)):
        if not name or not name.isprintable() or (option == "--pulls" and len(name) > _LONGEST_NAME):
            raise InputError(f"Invalid {option} {name!r}: use printable text, for --pulls at most 80 characters.")
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
