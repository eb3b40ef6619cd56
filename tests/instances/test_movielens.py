"""Ratings as instances: groups of users and movies."""

import itertools

import numpy as np
import pytest

from tutelage.instances import load
from tutelage.instances.readers.movies import find_movies
from tutelage.instances.readers.ratings import read_ratings

# Users 1 to 6 rate movies 1 to 8; only user 1 rates movie 8.
TRIPLES = [(user, movie, 1 + (user * movie) % 5) for user in range(1, 7) for movie in range(1, 8)] + [(1, 8, 5)]
RATINGS = "userId,movieId,rating,timestamp\n" + "".join(f"{u},{m},{r}.0,1\n" for u, m, r in TRIPLES)
MOVIES = (
    'movieId,title,genres\n1,"Saint, The (1997)",Action|Drama\n2,B,Drama\n3,C,Drama|Comedy\n4,D,Comedy\n'
    "5,E,(no genres listed)\n6,F,Drama\n7,G,Comedy\n8,G,Western\n9,Unrated,Horror\n"
)


@pytest.fixture
def folder(write, tmp_path):
    """A folder in the layout of ml-latest-small."""
    write("ml/ratings.csv", RATINGS)
    write("ml/movies.csv", MOVIES)
    return str(tmp_path / "ml")


def cell_means(groups_of_users, arms_of_movies):
    """The means by a plain loop: over the ratings of a cell, scaled from .5..5 to [0, 1]."""
    means = np.zeros((len(groups_of_users), len(arms_of_movies)))
    for client, users in enumerate(groups_of_users):
        for arm, movies in enumerate(arms_of_movies):
            seen = [(r - 0.5) / 4.5 for u, m, r in TRIPLES if u in users and m in movies]
            means[client, arm] = sum(seen) / len(seen)
    return means


def is_some_grouping(instance, arms_of_movies):
    """Whether the means are those of some three pairs of users (which ones depends on the seed)."""
    for order in itertools.permutations(range(1, 7)):
        pairs = [set(order[:2]), set(order[2:4]), set(order[4:])]
        if np.allclose(instance.local_means, cell_means(pairs, arms_of_movies)):
            return True
    return False


def test_genres(folder):
    """An arm is one of the most rated genres; a movie with several counts in each; names are the genres'."""
    instance = load(f"movielens:{folder},clients=3,arms=3,group=genre")
    assert instance.arm_names == ("Drama", "Comedy", "Action")
    assert is_some_grouping(instance, [{1, 2, 3, 6}, {3, 4, 7}, {1}])


def test_top(folder):
    """An arm is one of the most rated movies, by its title."""
    instance = load(f"movielens:{folder},clients=3,arms=4,group=top")
    assert instance.arm_names == ("Saint, The (1997)", "B", "C", "D")
    assert is_some_grouping(instance, [{1}, {2}, {3}, {4}])


def test_top_without_titles(write):
    """Without a movies file the arms are named by id."""
    instance = load("movielens:" + write("ratings.csv", RATINGS) + ",clients=2,arms=2,group=top")
    assert instance.arm_names == ("item 1", "item 2")


def test_popularity(folder):
    """An arm is one of equal groups of movies ranked by their number of ratings."""
    instance = load(f"movielens:{folder},clients=3,arms=4,group=popularity")
    assert instance.arm_names == ("rank 1 to 2", "rank 3 to 4", "rank 5 to 6", "rank 7 to 8")
    assert is_some_grouping(instance, [{1, 2}, {3, 4}, {5, 6}, {7, 8}])


def test_random_groups(folder):
    """Users and movies fall in equal random groups by the seed; the users' do not depend on the arms."""
    one = load(f"movielens:{folder},clients=3,arms=4,seed=1")
    assert one.local_means.shape == (3, 4)
    again = load(one.name)
    assert np.array_equal(again.local_means, one.local_means)
    assert not np.array_equal(load(f"movielens:{folder},clients=3,arms=4,seed=2").local_means, one.local_means)
    halves = load(f"movielens:{folder},clients=3,arms=1,seed=1,group=popularity").local_means
    assert np.array_equal(load(f"movielens:{folder},clients=3,arms=1,seed=1").local_means, halves)


def test_group_sizes(write):
    """Sizes of the groups differ by at most one, and all users are in one."""
    ratings = "".join(f"{user},1,{user % 2}\n" for user in range(11))
    instance = load("movielens:" + write("r.csv", ratings) + ",clients=4,arms=1,rewards=empirical")
    sizes = sorted(round(1 / share) for share in np.diff(instance.samples.cumulative, prepend=0) if share > 0)
    assert "client" in dict(instance.notes)["smallest cell"]
    assert dict(instance.notes)["smallest cell"].endswith(": 2 ratings")
    assert sizes


def test_notes(folder):
    """The seed, the scale, the smallest cell and the gap are printed with every use."""
    notes = dict(load(f"movielens:{folder},clients=3,arms=3,group=genre,seed=7").notes)
    assert notes["seed"] == "7"
    assert notes["scale"].startswith("0.5 to 5")
    assert notes["smallest cell"].endswith("(Action): 2 ratings")
    assert float(notes["gap"]) > 0


def test_empirical_rewards(folder):
    """rewards=empirical holds the scaled ratings of each cell, whose mean is the local mean."""
    instance = load(f"movielens:{folder},clients=3,arms=3,group=genre,rewards=empirical")
    samples = instance.samples
    for cell, mean in enumerate(instance.local_means.reshape(-1)):
        part = slice(samples.offsets[cell], samples.offsets[cell + 1])
        shares = np.diff(samples.cumulative[part], prepend=0.0)
        assert np.isclose(shares @ samples.values[part], mean)
        assert set(np.round(samples.values[part] * 4.5 + 0.5, 9)) <= {1, 2, 3, 4, 5}


def test_slices_join(folder, monkeypatch):
    """Counting by slices gives what counting at once gives."""
    whole = load(f"movielens:{folder},clients=3,arms=3,group=genre")
    monkeypatch.setattr("tutelage.instances.movielens._SLICE", 5)
    assert np.allclose(load(f"movielens:{folder},clients=3,arms=3,group=genre").local_means, whole.local_means)


def test_weights_and_given_scale(folder):
    """weights= and scale= apply."""
    instance = load(f"movielens:{folder},clients=2,arms=2,group=top,weights=.3;.7,scale=0;10")
    assert instance.weights.tolist() == [0.3, 0.7]
    assert instance.local_means.max() <= 0.5
    assert "scale=0;10" in instance.name


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("clients=7", ("clients=7", "6 users", "at most 6")),
        ("clients=2,arms=9", ("arms=9", "8 items")),
        ("clients=2,arms=9,group=top", ("arms=9", "8 items")),
        ("clients=2,arms=9,group=genre", ("arms=9", "4 genres")),
        ("clients=6,arms=8,group=top", ("no ratings of client", "arm 7 (G [8])", "5 cells")),
        ("clients=0", ("clients=0",)),
        ("arms=0", ("arms=0",)),
        ("seed=-1", ("seed=-1",)),
        ("group=colour", ("group=colour", "genre")),
        ("scale=5;1", ("scale=5;1",)),
        ("scale=2;3", ("outside the scale 2 to 3",)),
        ("weights=.5;.5", ("clients=15",)),
    ],
)
def test_refused(refuses, folder, options, words):
    """Too many clients or arms, empty cells and unknown groups are refused in a sentence."""
    refuses(f"movielens:{folder},{options}", *words)


def test_genre_needs_movies(refuses, write):
    """group=genre without the movies file says so."""
    refuses(
        "movielens:" + write("ratings.csv", RATINGS) + ",clients=2,arms=2,group=genre",
        "needs movies.csv, movies.dat or u.item next to",
    )


def test_movies_of_the_old_sets(write):
    """u.item and movies.dat, in ISO 8859-1, give titles and genres."""
    flags = "|".join("1" if place in (1, 8) else "0" for place in range(19))
    write("a/u.item", f"1|Misérables, Les (1995)|01-Jan-1995||http://x|{flags}\n".encode("iso-8859-1"))
    movie = find_movies(read_ratings(write("a/u.data", "1\t1\t5\t1\n2\t1\t1\t1\n")).data)["1"]
    assert movie.title == "Misérables, Les (1995)"
    assert movie.genres == ("Action", "Drama")
    write("b/movies.dat", "1::Misérables::The (1995)::Drama|Musical\n".replace("::The", ", The").encode("iso-8859-1"))
    movie = find_movies(read_ratings(write("b/ratings.dat", "1::1::5::1\n2::1::1::1\n")).data)["1"]
    assert movie.genres == ("Drama", "Musical")


def test_damaged_movies(refuses, write):
    """A movies file of lines that are too short is refused."""
    write("movies.csv", "movieId,title,genres\n1\n")
    refuses("movielens:" + write("ratings.csv", RATINGS) + ",clients=2,arms=2,group=genre", "movies.csv", "1 fields")


@pytest.mark.parametrize("group", ["random", "genre", "popularity", "top"])
def test_real_data(data, group):
    """ml-latest-small: 15 clients and 15 arms in every grouping; the counts are those of its README."""
    clients = 5 if group == "top" else 15
    instance = load(f"movielens:{data}/ml-latest-small,clients={clients},group={group}")
    assert instance.local_means.shape == (clients, 15)
    assert dict(instance.notes)["ratings"].startswith("100836 ratings of")
    assert "by 610 users" in dict(instance.notes)["ratings"]
    assert dict(instance.notes)["scale"].startswith("0.5 to 5")


def test_real_data_overall_mean(data):
    """One client and one arm of ml-latest-small give the plain mean of all ratings."""
    path = data / "ml-latest-small" / "ratings.csv"
    values = [float(line.split(",")[2]) for line in path.read_text().splitlines()[1:]]
    expected = (sum(values) / len(values) - 0.5) / 4.5
    assert np.isclose(load(f"movielens:{path},clients=1,arms=1").local_means[0, 0], expected)
