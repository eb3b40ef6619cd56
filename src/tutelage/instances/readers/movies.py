"""Titles and genres of movies, from the file next to the ratings of each MovieLens set."""

import csv
import io
from dataclasses import dataclass

from tutelage.errors import InputError
from tutelage.instances.readers.files import DataFile, decode

_NAMES = ("movies.csv", "movies.dat", "u.item")
_NO_GENRE = ("", "unknown", "(no genres listed)")

# The flags of u.item, in the order of ml-100k's README.
_FLAGS = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama",
    "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
)  # fmt: skip


@dataclass(frozen=True)
class Movie:
    """A movie's title and its genres (none where none are listed)."""

    title: str
    genres: tuple[str, ...]


def find_movies(ratings: DataFile) -> dict[str, Movie] | None:
    """The movies by id, if ``movies.csv``, ``movies.dat`` or ``u.item`` is in the folder of the ratings."""
    for name in _NAMES:
        found = ratings.find_sibling(name)
        if found is not None:
            # ml-100k and ml-1m are published in ISO 8859-1, the later sets in UTF-8.
            return _read(decode(found, fallback="iso-8859-1"), found)
    return None


def _read(text: str, data: DataFile) -> dict[str, Movie]:
    if data.name == "movies.csv":
        try:
            rows = list(csv.reader(io.StringIO(text, newline="")))[1:]
        except csv.Error as error:
            raise InputError(f"{data.label!r} is not a CSV file: {error}; download the file again.") from None
    else:
        mark = "::" if data.name == "movies.dat" else "|"
        rows = [line.split(mark) for line in text.splitlines()]
    movies = {}
    for row in rows:
        if not any(row):
            continue
        if len(row) < 3 or (data.name == "u.item" and len(row) != 5 + len(_FLAGS)):
            raise InputError(
                f"{data.label!r} has a line of {len(row)} fields beginning {row[0]!r}; download the file again."
            )
        if data.name == "u.item":
            genres = [genre for genre, flag in zip(_FLAGS, row[5:], strict=True) if flag.strip() == "1"]
        else:
            genres = row[-1].strip().split("|")
        movies[row[0].strip()] = Movie(row[1].strip(), tuple(dict.fromkeys(g for g in genres if g not in _NO_GENRE)))
    return movies
