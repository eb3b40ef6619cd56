"""A server in this process, without sockets."""

import asyncio
import contextlib

import httpx
import pytest
from tests.stores.conftest import new_database, postgresql

from tutelage.service.api.access import make_key
from tutelage.service.api.problems import MEDIA_TYPE, TYPE_PREFIX
from tutelage.service.app import build
from tutelage.service.configuration import Configuration
from tutelage.stores import open_store

__all__ = ["new_database", "postgresql"]


class InProcessServer:
    """An application between its start and its end, called in one loop."""

    def __init__(self, url, client=("127.0.0.1", 5000), **settings):
        self.url = url
        self.store = open_store(self.url)
        self.loop = asyncio.new_event_loop()
        self.gateway = build(self.store, Configuration(store=self.url, **settings))
        self.lifespan = self.gateway.lifespan.lifespan_context(self.gateway)
        self.loop.run_until_complete(self.lifespan.__aenter__())
        transport = httpx.ASGITransport(self.gateway, client=client)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321")

    def call(self, method, path, content=None, **options):
        if content is not None:
            options["json"] = content
        answer = self.loop.run_until_complete(self.http.request(method, path, **options))
        self.check_documented(method, answer)
        return answer

    def check_documented(self, method, answer):
        """The OpenAPI document names every refusal of a route."""
        if answer.headers.get("content-type") == MEDIA_TYPE and answer.content:
            kind = answer.json()["type"].removeprefix(TYPE_PREFIX)
            path = self.gateway.inner_path(answer.request.url.path)
            route = self.gateway.table.find(path)[0].get(method)
            if route is not None and route.summary:
                assert kind in route.all_problems, f"{method} {route.path} does not document {kind}"

    def create(self, name="c", **content):
        given = {"name": name, "arms": ["x", "y"], "clients": ["a", "b"], "horizon": 100, "teacher": "twl"}
        return self.call("POST", "/v1/campaigns", given | {"start": True} | content)

    def pull(self, *pulls, name="c", **options):
        return self.call("POST", f"/v1/campaigns/{name}/pulls", {"pulls": list(pulls)}, **options)

    def make_key(self, name, role):
        """Headers with a new key."""
        secret, row = make_key(name, role, None, (), 1)
        self.store.create_key(row)
        self.keys_changed()
        return {"Authorization": f"Bearer {secret}"}

    def keys_changed(self):
        self.gateway.access.update(self.store.keys())

    def close(self):
        self.loop.run_until_complete(self.http.aclose())
        self.loop.run_until_complete(self.lifespan.__aexit__(None, None, None))
        self.store.close()
        self.loop.close()


@pytest.fixture
def url(tmp_path):
    """The store that servers of a test share."""
    return f"sqlite:///{tmp_path}/t.db"


@pytest.fixture
def serve(url):
    """``serve(**settings)`` gives a running server on the store at ``url``; it ends with the test."""
    with contextlib.ExitStack() as stack:

        def begin(**options):
            running = InProcessServer(url, **options)
            stack.callback(running.close)
            return running

        yield begin


@pytest.fixture(params=["sqlite", "postgresql"])
def either_url(request, tmp_path):
    """The address of an empty store of either kind."""
    if request.param == "postgresql":
        return request.getfixturevalue("new_database")()
    return f"sqlite:///{tmp_path}/t.db"


@pytest.fixture
def server(serve):
    """A server with the defaults."""
    return serve()
