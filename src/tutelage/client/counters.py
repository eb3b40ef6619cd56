"""What a client has done since it was made, as numbers for a platform's own metrics."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Counters:
    """Numbers since the client was made, except ``waiting``.

    ``answered`` and ``bypassed`` are pulls; ``at_once`` are those of the bypassed ones that were not sent, since
    the server did not answer the calls before.  ``refused`` are calls that raised :class:`PullRefusal`.
    ``retried`` are repeated requests.  ``reported`` are reports that were delivered, ``dropped`` those that the
    server refuses, ``lost`` those for which there was no room, and ``waiting`` those that wait now.
    """

    answered: int = 0
    bypassed: int = 0
    at_once: int = 0
    refused: int = 0
    retried: int = 0
    reported: int = 0
    dropped: int = 0
    lost: int = 0
    waiting: int = 0
