"""A store on either database, fresh for each test."""

import contextlib
import itertools

import psycopg
import pytest
from tests.stores import cluster

from tutelage import stores


@pytest.fixture(scope="session")
def postgresql():
    """The folder of a running server."""
    binaries = cluster.binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed: put its initdb on the PATH")
    with cluster.running(binaries) as folder:
        with psycopg.connect(cluster.url(folder, "postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE empty")
            connection.execute("CREATE DATABASE filled")
        stores.upgrade(cluster.url(folder, "filled"))
        yield folder


_numbers = itertools.count()


@pytest.fixture
def new_database(postgresql):
    """Makes databases of the server, by default with the newest tables; they last until the test's end."""
    with psycopg.connect(cluster.url(postgresql, "postgres"), autocommit=True) as connection:
        names = []

        def make(template="filled"):
            names.append(f"test{next(_numbers)}")
            connection.execute(f"CREATE DATABASE {names[-1]} TEMPLATE {template}")
            return cluster.url(postgresql, names[-1])

        yield make
        for name in names:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_store(request, tmp_path):
    """The URL of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/tutelage.db"
    return request.getfixturevalue("new_database")()


@pytest.fixture
def address(empty_store):
    """The URL of an empty store."""
    return empty_store


@pytest.fixture
def opened():
    """Opens stores, readers and keys, and closes them when the test is over."""
    with contextlib.ExitStack() as stack:

        def keep(thing):
            stack.callback(thing.close)
            return thing

        yield keep


@pytest.fixture
def store(address, opened):
    """A store with one campaign, ``c``, that nobody leads yet."""
    store = opened(stores.open_store(address))
    store.create("c", '{"arms": ["a", "b"]}', 3, 17, '{"directive": 0}')
    return store
