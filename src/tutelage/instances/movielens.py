"""Ratings as a bandit problem: groups of users are clients, groups of movies are arms."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.instances.base import Instance
from tutelage.instances.readers.movies import Movie, find_movies
from tutelage.instances.readers.ratings import Ratings, read_ratings
from tutelage.instances.readers.reward_counts import RewardCounts, tally
from tutelage.instances.support.building import (
    build,
    make_generators,
    rewards_parameter,
    seed_parameter,
    shuffle,
    weights_parameter,
)
from tutelage.registry import check_parameters, parameter, write_value

Grouping = Literal["random", "genre", "popularity", "top"]
_NONE = -1
_SLICE = 1 << 21  # ratings counted at a time


@dataclass(frozen=True)
class MovieLens:
    """Mean ratings of groups of users for groups of movies, from any file of ratings.

    Shi et al., "Experimental Results" (MovieLens): users and movies in 15 random groups each.  PATH is any
    published MovieLens layout (``u.data``, ``ratings.dat``, ``ratings.csv``; plain, ``.gz``, in its folder or
    its ``.zip``) or any CSV of user, item, rating.  A client is one of equal random groups of users (sizes
    differ by at most one).  An arm, by ``group=``:

    - ``random``: one of equal random groups of the rated movies (the paper);
    - ``genre``: one of the most rated genres; a movie with several genres counts in each of them;
    - ``popularity``: one of equal groups of movies ranked by their number of ratings;
    - ``top``: one of the most rated movies.

    The mean of a cell is over its ratings, scaled by the ends of the scale to [0, 1]; ``readers/ratings.py``
    describes how the published sets are recognised.  A cell without ratings is an ``InputError``.
    """

    path: str = parameter(help="file of ratings, or the folder or archive that holds it")
    clients: int = parameter(15, help="number of groups of users", minimum=1)
    arms: int = parameter(15, help="number of groups of movies, of genres or of movies", minimum=1)
    group: Grouping = parameter("random", help="how arms are formed")
    seed: int = seed_parameter("groups")
    scale: str | None = parameter(None, help="ends of the rating scale, as in 1;5; recognised from the file by default")
    rewards: str = rewards_parameter()
    weights: str | None = weights_parameter()

    def __post_init__(self) -> None:
        check_parameters(self)

    def load(self) -> Instance:
        """Read the ratings and form the groups.  Raises ``InputError`` with what is wrong and the remedy."""
        # Two generators: the users' groups do not depend on how the arms are formed.
        for_users, for_items = make_generators(self.seed, 2)
        ratings = read_ratings(self.path, self.scale)
        _enough(self.clients, len(ratings.user_ids), "clients", "users", ratings)
        groups = _equal_groups(len(ratings.user_ids), self.clients, for_users)
        layers, names = _arms(self.group, ratings, self.arms, for_items)
        observed = _count(ratings, groups, layers, self.clients, self.arms)
        return self._build(ratings, observed, names)

    def _build(self, ratings: Ratings, observed: RewardCounts, names: Sequence[str] | None) -> Instance:
        smallest = observed.smallest(
            lambda client: f"client {client}",
            lambda arm: f"arm {arm}" + (f" ({names[arm]})" if names else ""),
            "ratings",
            "use fewer clients or arms, or another seed",
        )
        low, high = (write_value(end) for end in ratings.scale)
        size = f"{ratings.values.size} ratings of {len(ratings.item_ids)} items by {len(ratings.user_ids)} users"
        return build(
            "movielens",
            self,
            observed.means,
            arm_names=None if names is None else tuple(names),
            samples=observed.samples(),
            notes=[
                ("seed", str(self.seed)),
                ("ratings", size),
                ("scale", f"{low} to {high} ({ratings.known_by})"),
                ("smallest cell", smallest),
            ],
            resolved={"scale": f"{low};{high}"},
        )


def _enough(wanted: int, there: int, what: str, of: str, ratings: Ratings) -> None:
    if wanted > there:
        raise InputError(
            f"movielens: {what}={wanted}, but {ratings.data.label!r} has only {there} {of}: use at most {there}."
        )


def _equal_groups(size: int, groups: int, generator: Generator) -> NDArray[np.int64]:
    """Put ``size`` things into random groups whose sizes differ by at most one."""
    return _split(shuffle(size, generator), groups)


def _split(order: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """Cut things in this order into equal groups; return the group of each thing."""
    group_of = np.empty(order.size, dtype=np.int64)
    for group, members in enumerate(np.array_split(order, groups)):
        group_of[members] = group
    return group_of


def _arms(
    group: str, ratings: Ratings, arms: int, generator: Generator
) -> tuple[list[NDArray[np.int64]], list[str] | None]:
    """Return the arm of each item (or none), and the names of the arms.

    One such array [items] is a layer; only genres overlap and need a layer each.
    """
    num_items = len(ratings.item_ids)
    movies = find_movies(ratings.data) if group in ("genre", "top") else None
    if group == "genre":
        return _genres(ratings, arms, movies)
    _enough(arms, num_items, "arms", "items", ratings)
    if group == "random":
        return [_equal_groups(num_items, arms, generator)], None
    popular = np.argsort(-np.bincount(ratings.items, minlength=num_items), kind="stable")
    if group == "popularity":
        ends = np.cumsum([0] + [len(part) for part in np.array_split(popular, arms)])
        names = [f"rank {start + 1} to {end}" for start, end in itertools.pairwise(ends)]
        return [_split(popular, arms)], names
    layer = np.full(num_items, _NONE, dtype=np.int64)
    layer[popular[:arms]] = np.arange(arms)
    return [layer], _titles([ratings.item_ids[item] for item in popular[:arms]], movies)


def _titles(ids: list[str], movies: dict[str, Movie] | None) -> list[str]:
    """The movies' titles where known, else ``item 32``; the id is added to a title that two movies share."""
    titles = [movies[item].title if movies and item in movies else f"item {item}" for item in ids]
    return [f"{title} [{item}]" if titles.count(title) > 1 else title for title, item in zip(titles, ids, strict=True)]


def _genres(ratings: Ratings, arms: int, movies: dict[str, Movie] | None) -> tuple[list[NDArray[np.int64]], list[str]]:
    if movies is None:
        raise InputError(
            f"group=genre needs movies.csv, movies.dat or u.item next to {ratings.data.label!r}: give the folder "
            "or archive that holds both files, or use group=random."
        )
    listed = [movies[item].genres if item in movies else () for item in ratings.item_ids]
    popularity = np.bincount(ratings.items, minlength=len(listed))
    rated: dict[str, int] = {}
    for genres, count in zip(listed, popularity, strict=True):
        for genre in genres:
            rated[genre] = rated.get(genre, 0) + int(count)
    names = sorted(rated, key=lambda genre: (-rated[genre], genre))[:arms]
    _enough(arms, len(rated), "arms", "genres", ratings)
    layers = [np.where([name in genres for genres in listed], arm, _NONE) for arm, name in enumerate(names)]
    return [layer.astype(np.int64) for layer in layers], names


def _count(
    ratings: Ratings, groups: NDArray[np.int64], layers: list[NDArray[np.int64]], num_clients: int, num_arms: int
) -> RewardCounts:
    """Count the scaled ratings by client and arm, slice by slice to save memory."""
    parts = []
    for start in range(0, ratings.values.size, _SLICE):
        rows = slice(start, start + _SLICE)
        values, clients = ratings.scaled(rows), groups[ratings.users[rows]]
        for layer in layers:
            arm = layer[ratings.items[rows]]
            rated = np.flatnonzero(arm != _NONE)
            cells = (clients * num_arms + arm)[rated]
            parts.append(tally(cells, values[rated], None, num_clients, num_arms))
    cells, levels, counts = (
        np.concatenate([getattr(part, field) for part in parts]) for field in ("cells", "values", "counts")
    )
    return tally(cells, levels, counts, num_clients, num_arms)
