"""Files of (user, item, rating): the published MovieLens layouts and any other CSV."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.instances.readers.delimited import (
    Layout,
    commented_header,
    first_lines,
    split_line,
    split_preamble,
    stream_columns,
    whole_ids,
)
from tutelage.instances.readers.files import DataFile, locate
from tutelage.instances.readers.numbers import parse_number

if TYPE_CHECKING:
    import polars as pl

NAMES = ("u.data", "ratings.dat", "ratings.csv")

_COLUMNS = {
    "user": ("user", "userid", "users", "client"),
    "item": ("item", "itemid", "movie", "movieid", "product", "productid", "arm"),
    "rating": ("rating", "ratings", "score", "value", "stars", "reward"),
}
_MOST_COMMENTS = 100  # lines before the data
_PUBLISHED_HEADER = ["userId", "movieId", "rating", "timestamp"]


@dataclass(frozen=True, eq=False)
class Ratings:
    """N ratings, each of one item by one user.

    ``users`` and ``items`` are numbers [N] into ``user_ids`` and ``item_ids``, which are in ascending order;
    ``values`` [N] are the ratings as given.  ``scale`` holds the ends of the rating scale, and ``known_by``
    how they were found.
    """

    data: DataFile
    users: NDArray[np.uint32]
    items: NDArray[np.uint32]
    values: NDArray[np.float64]
    user_ids: list[str]
    item_ids: list[str]
    scale: tuple[float, float]
    known_by: str

    def scaled(self, rows: slice) -> NDArray[np.float64]:
        """Some of the ratings, scaled by the ends of their scale to [0, 1]."""
        low, high = self.scale
        return (self.values[rows] - low) / (high - low)


def read_ratings(path: str, scale: str | None = None) -> Ratings:
    """Read a file, or the ratings file of a folder or archive.

    Unless ``scale`` ("1;5") gives the ends of the scale, they are those of the published set that the layout
    and the contents of the file belong to:

    - ``u.data`` (ml-100k, user item rating time between tabs; also its splits u1.base ... ub.test): 1 to 5;
    - ``ratings.dat`` (user::item::rating::time) with whole stars only (ml-1m): 1 to 5;
    - ``ratings.dat`` with half stars, or in a folder named ml-10M... (ml-10M): 0.5 to 5;
    - any file headed ``userId,movieId,rating,timestamp`` (ml-20m, 25m, 32m, latest): 0.5 to 5.

    (Sources: the README files of these sets.)  For any other file they are the smallest and the largest
    rating.  An id ``1.0`` is the id ``1``.  Raises ``InputError`` for what cannot be read, ratings outside the
    scale, and pairs rated twice.
    """
    data = locate(path, NAMES, "ratings file")
    layout, columns, published = _layout(data)
    frames = [_typed(frame, data, layout.separator) for frame in stream_columns(data, layout, columns)]
    if not frames:
        raise InputError(f"{data.label!r} has no ratings: give a file with a line for each.")
    import polars as pl

    for name in ("user", "item"):
        if len({frame.schema[name] for frame in frames}) > 1:
            frames = [frame.with_columns(pl.col(name).cast(pl.String)) for frame in frames]
    table = pl.concat(frames)
    del frames
    values = table["rating"].to_numpy()
    users, user_ids = _numbered(table["user"])
    items, item_ids = _numbered(table["item"])
    ends, known_by = _scale(scale, published, values, data)
    ratings = Ratings(data, users, items, values, user_ids, item_ids, ends, known_by)
    _check_scale(ratings)
    _check_pairs(ratings)
    return ratings


def _layout(data: DataFile) -> tuple[Layout, dict[int, str], str]:
    """How the file is cut, which columns hold what, and which published layout it is (or "")."""
    lines = first_lines(data, _MOST_COMMENTS)
    given, skip = split_preamble(lines)
    if skip == len(lines):
        raise InputError(f"{data.label!r} has no ratings: give a file with a line for each.")
    first, where = lines[skip], f"line {skip + 1} of {data.label!r}"
    separator = given or next((mark for mark in ("::", "\t", ";") if mark in first), ",")
    head = split_line(first, separator, where)
    if skip > (given is not None):
        names = commented_header(lines[skip - 1], first, separator, where)
        if names and _places(names)["rating"]:
            head, skip = names, skip - 1
    while len(head) > 3 and not head[-1]:
        head.pop()
    places = _places(head)
    headed = any(places.values())
    if headed:
        for word, found in places.items():
            if len(found) != 1:
                what = "no column" if not found else "several columns"
                raise InputError(
                    f"{data.label!r} has {what} for the {word} (its columns are {', '.join(head)}); "
                    f"name one of them {word!r}."
                )
        columns = {places[word][0]: word for word in ("user", "item", "rating")}
    else:
        if len(head) < 3:
            raise InputError(f"{data.label!r} has lines of {len(head)} fields; each must hold user, item and rating.")
        parse_number(head[2], f"the third field of {where}, where the rating stands,", comma=separator != ",")
        columns = {0: "user", 1: "item", 2: "rating"}
    published = ""
    if headed and head == _PUBLISHED_HEADER:
        published = "ratings.csv"
    elif not headed and separator == "::" and len(head) == 4:
        published = "ratings.dat"
    elif not headed and re.fullmatch(r"u\.data|u[1-5ab]\.(base|test)", data.name):
        published = "u.data"
    return Layout(separator, len(head), skip=skip + int(headed)), dict(sorted(columns.items())), published


def _places(head: list[str]) -> dict[str, list[int]]:
    """The columns whose names fit the user, the item and the rating."""
    known = [re.sub(r"[^a-z]", "", name.lower()) for name in head]
    return {word: [at for at, name in enumerate(known) if name in names] for word, names in _COLUMNS.items()}


def _typed(frame: "pl.DataFrame", data: DataFile, separator: str) -> "pl.DataFrame":
    """The rating as a number, and ids as whole numbers where they are written as such (``007`` is not)."""
    import polars as pl

    text = frame["rating"]
    if separator != "," and text.str.contains(",", literal=True).any():
        if text.str.contains(".", literal=True).any():
            raise InputError(f"{data.label!r} mixes decimal points and decimal commas; write all ratings in one way.")
        text = text.str.replace(",", ".", literal=True)
    ratings = text.str.replace(r"\s*%$", "e-2").cast(pl.Float64, strict=False)
    bad = frame.filter(~(ratings.is_not_null() & ratings.is_finite()))
    if bad.height:
        where = f"line {bad['line'][0]} of {data.label!r}, where the rating stands,"
        parse_number(bad["rating"][0], where, comma=separator != ",")
        raise InputError(f"The rating {bad['rating'][0]} in line {bad['line'][0]} of {data.label!r} is not a number.")
    return pl.DataFrame([ratings, *(_typed_ids(frame[name]) for name in ("user", "item"))])


def _typed_ids(ids: "pl.Series") -> "pl.Series":
    import polars as pl

    whole = ids.cast(pl.Int64, strict=False)
    if whole.null_count():  # perhaps pandas wrote them as 1.0
        ids = whole_ids(ids)
        whole = ids.cast(pl.Int64, strict=False)
    exact = whole.null_count() == 0 and bool((whole.cast(pl.String) == ids).all())
    return whole if exact else ids


def _numbered(ids: "pl.Series") -> tuple[NDArray[np.uint32], list[str]]:
    """Each id's place among the distinct ids, and those, in ascending order."""
    import polars as pl

    distinct = ids.unique().sort()
    names = distinct.cast(pl.String).to_list()
    if ids.dtype == pl.String:
        return (ids.rank("dense").cast(pl.UInt32) - 1).to_numpy(), names
    return np.searchsorted(distinct.to_numpy(), ids.to_numpy()).astype(np.uint32), names


def read_scale(text: str) -> tuple[float, float]:
    """``"1;5"`` as the ends of a scale."""
    ends = [parse_number(part, f"scale={text}") for part in text.split(";")]
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise InputError(f"Invalid scale={text}: use the smallest and the largest rating, as in scale=1;5.")
    return ends[0], ends[1]


def _scale(
    scale: str | None, published: str, values: NDArray[np.float64], data: DataFile
) -> tuple[tuple[float, float], str]:
    if scale is not None:
        return read_scale(scale), "given"
    if published == "u.data":
        return (1.0, 5.0), "ml-100k's u.data"
    if published == "ratings.csv":
        return (0.5, 5.0), "MovieLens' ratings.csv"
    if published == "ratings.dat":
        if bool(np.any(values % 1.0 == 0.5)) or "ml-10m" in data.label.lower():
            return (0.5, 5.0), "ml-10M's ratings.dat"
        return (1.0, 5.0), "ml-1m's ratings.dat"
    low, high = float(values.min()), float(values.max())
    if low == high:
        raise InputError(f"All ratings in {data.label!r} are {low:g}; give the ends of their scale, as in scale=1;5.")
    return (low, high), "smallest and largest rating"


def _check_scale(ratings: Ratings) -> None:
    low, high = ratings.scale
    if high - low == float("inf"):
        raise InputError(
            f"The scale {low:g} to {high:g} ({ratings.known_by}) of {ratings.data.label!r} is wider than a "
            "number can be; correct the ratings, or give the scale, as in scale=1;5."
        )
    outside = np.flatnonzero((ratings.values < low) | (ratings.values > high))
    if outside.size:
        at = int(outside[0])
        raise InputError(
            f"The rating {ratings.values[at]:g} of item {ratings.item_ids[ratings.items[at]]} by user "
            f"{ratings.user_ids[ratings.users[at]]} in {ratings.data.label!r} lies outside the scale "
            f"{low:g} to {high:g} ({ratings.known_by}); correct it, or give the scale, as in scale=0;10."
        )


def _check_pairs(ratings: Ratings) -> None:
    count = len(ratings.item_ids)
    pairs = np.sort(ratings.users.astype(np.int64) * count + ratings.items)
    repeated = np.flatnonzero(pairs[1:] == pairs[:-1])
    if repeated.size:
        user, item = divmod(int(pairs[repeated[0]]), count)
        raise InputError(
            f"User {ratings.user_ids[user]} rates item {ratings.item_ids[item]} twice in "
            f"{ratings.data.label!r} ({repeated.size} such lines); keep one rating of each pair."
        )
