"""Titles and genres of movies, from the file next to the ratings of each MovieLens set."""

from dataclasses import dataclass

from tutelage.errors import InputError
from tutelage.instances.readers.delimited import cut_short, split_line, split_lines, whole_id
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
    mark = {"movies.csv": ",", "movies.dat": "::"}.get(data.name, "|")
    lines = list(enumerate(split_lines(text), 1))[int(data.name == "movies.csv") :]
    rows = [
        split_line(line, mark, f"line {at} of {data.label!r}") if mark == "," else line.split(mark)
        for at, line in lines
    ]
    movies: dict[str, Movie] = {}
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
        movies[whole_id(row[0].strip())] = Movie(
            row[1].strip(), tuple(dict.fromkeys(g for g in genres if g not in _NO_GENRE))
        )
    if lines[-1][1].strip() and data.name != "u.item":  # no line end
        last, found = row[-1].strip().split("|")[-1], {genre for movie in movies.values() for genre in movie.genres}
        if any(genre != last and genre.startswith(last) for genre in found):
            raise cut_short(f"line {lines[-1][0]}", data.label, f"the genre {last!r}")
    return movies
