"""A listening server in a thread of this process, behind a proxy that removes a path prefix."""

import asyncio
import contextlib
import threading

import httpx
import uvicorn

from tutelage.service.api.access import make_key
from tutelage.service.api.pull_protocol import choose_protocol
from tutelage.service.app import build
from tutelage.service.configuration import Configuration
from tutelage.stores import open_keys, open_store

PREFIX = "/behind/a/proxy"


class ListeningServer:
    """``whole`` passes the prefix on to the server, ``cut`` cuts it off, ``plain`` has none."""

    def __init__(self, path, **settings):
        self.url = url = f"sqlite:///{path}"
        self.store, self.secret = open_store(url), ""
        settings = {"slow_seconds": 1e4, "stalled_seconds": 1e4, "idle_seconds": 1e4} | settings
        self.gateway = build(self.store, Configuration(store=url, root_path=PREFIX, **settings))
        self.servers, self.ready = [], threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.run()), daemon=True)
        self.thread.start()
        assert self.ready.wait(30)
        ports = [server.servers[0].sockets[0].getsockname()[1] for server in self.servers]
        self.plain = f"http://127.0.0.1:{ports[0]}"
        self.whole, self.cut = self.plain + PREFIX, f"http://127.0.0.1:{ports[1]}{PREFIX}"

    async def run(self):
        for application, lifespan in ((self.gateway, "on"), (self.cutting, "off")):
            config = uvicorn.Config(
                *(application, "127.0.0.1", 0),
                http=choose_protocol(self.gateway) if application is self.gateway else "httptools",
                log_config=None,
                lifespan=lifespan,
                interface="asgi3",
                timeout_graceful_shutdown=1,
            )
            self.servers.append(uvicorn.Server(config))
        serving = [asyncio.create_task(server.serve()) for server in self.servers]
        while not all(server.started for server in self.servers):  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.01)
        self.ready.set()
        await asyncio.gather(*serving)

    async def cutting(self, scope, receive, send):
        if scope["path"].startswith(PREFIX + "/"):
            await self.gateway(scope | {"path": scope["path"].removeprefix(PREFIX)}, receive, send)
        else:
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    def key(self, name, role, campaign=None):
        secret, row = make_key(name, role, campaign, (), 1)
        with contextlib.closing(open_keys(self.url)) as keys:  # the store is the writer's
            keys.create_key(row)
            self.gateway.access.update(keys.keys())
        return secret

    def play(self, name, clients, arms, rounds=20):
        with httpx.Client(base_url=self.plain, timeout=30) as http:
            made = {"name": name, "arms": arms, "clients": clients, "horizon": 2000, "teacher": "twl"}
            http.post("/v1/campaigns", json=made | {"start": True}).raise_for_status()
            pulls = [
                {"id": f"{round}-{number}", "client": client, "arm": arms[round % len(arms)], "reward": 0.5}
                for round in range(rounds)
                for number, client in enumerate(clients)
            ]
            http.post(f"/v1/campaigns/{name}/pulls", json={"pulls": pulls}).raise_for_status()

    def stop(self):
        for server in self.servers:
            server.should_exit = True
        self.thread.join()

    def close(self):
        self.stop()
        self.store.close()
