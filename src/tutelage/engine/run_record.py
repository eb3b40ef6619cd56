"""What a run records of its clients, and how the clients of a compiled call are cut into pieces.

Shapes: M clients, C recorded rounds, K arms, P pieces.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tutelage.engine.compiled_loop import RoundRecord
from tutelage.engine.memory import Memory
from tutelage.request import SimulationRequest

PIECE = 1024  # of many clients, those whose numbers lie between two multiples of it are a piece


class PartSums(NamedTuple):
    """Pulls [C, K] and costs [C] of the clients of a piece in a call, at the checkpoints from the first one here on."""

    piece: int
    first_checkpoint: int
    pulls: NDArray[np.integer[Any]]
    costs: NDArray[np.float64]


class RunRecord:
    """Pulls and costs after the recorded rounds: of each client or, of many clients, of each piece.

    Pieces do not depend on the number of workers, and neither does what is summed over them.  ``pulls`` [M, C, K] and
    ``costs`` [M, C] are of ``SimulationRequest.client_rounds``; ``piece_pulls`` [P, C, K] and ``piece_costs`` [P, C],
    of many clients only, are of ``recorded_rounds``.
    """

    def __init__(self, request: SimulationRequest, num_clients: int) -> None:
        self.rounds, self.client_rounds = request.recorded_rounds, request.client_rounds
        self.sums_clients = request.sums_clients
        self.num_arms, self.count_type = request.instance.num_arms, request.count_type
        shape = (num_clients, self.client_rounds.size)
        self.pulls = np.zeros((*shape, self.num_arms), dtype=self.count_type)
        self.costs = np.zeros(shape)
        self.whole = RoundRecord(self.rounds, self.pulls, self.costs, 0, 0)  # of few clients
        shape = (-(-num_clients // PIECE) if self.sums_clients else 0, self.rounds.size)
        self.piece_pulls = np.zeros((*shape, self.num_arms), dtype=np.int64)
        self.piece_costs = np.zeros(shape)
        self.unused: list[tuple[NDArray[np.integer[Any]], NDArray[np.float64]]] = []  # zeros, for one piece each

    def cut(self, clients: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Cut the clients of a call, ascending, into pieces; few clients are one."""
        if not self.sums_clients:
            return [clients]
        cuts = np.searchsorted(clients, np.arange(PIECE, clients[-1] + 1, PIECE))
        return [piece for piece in np.split(clients, cuts) if piece.size]

    def open_part(self, memory: Memory, clients: NDArray[np.int64]) -> RoundRecord:
        """Return where a kernel records these clients, one piece."""
        if not self.sums_clients:
            return self.whole
        try:
            pulls, costs = self.unused.pop()
        except IndexError:
            shape = PIECE, self.rounds.size
            pulls, costs = np.zeros((*shape, self.num_arms), dtype=self.count_type), np.zeros(shape)
        first_client = int(clients[0]) // PIECE * PIECE
        return RoundRecord(self.rounds, pulls, costs, first_client, int(memory.next_checkpoints[clients].min()))

    def close_part(self, part: RoundRecord, memory: Memory, clients: NDArray[np.int64]) -> PartSums | None:
        """Return sums of what kernels recorded of these clients; None of few clients, which are recorded one by one.

        The arrays are used again, because making them takes longer than many a call.  Only checkpoints that have been
        reached are summed and set to 0 again.
        """
        if not self.sums_clients:
            return None
        reached = int(memory.next_checkpoints[clients].max()) - part.first_checkpoint
        pulls, costs = part.pulls[:, :reached], part.costs[:, :reached]
        sums = PartSums(part.first_client // PIECE, part.first_checkpoint, pulls.sum(axis=0), costs.sum(axis=0))
        pulls[...] = 0
        costs[...] = 0.0
        self.unused.append((part.pulls, part.costs))
        return sums

    def add_sums(self, sums: PartSums) -> None:
        """Add what was recorded of a piece."""
        place = slice(sums.first_checkpoint, sums.first_checkpoint + sums.costs.size)
        self.piece_pulls[sums.piece, place] += sums.pulls
        self.piece_costs[sums.piece, place] += sums.costs

    def note_clients(self, memory: Memory, round: int) -> None:
        """Record each of many clients in a round in which all are, and no pull is pending."""
        if self.sums_clients:
            place = np.searchsorted(self.client_rounds, round)
            self.pulls[:, place], self.costs[:, place] = memory.pulls, memory.costs
