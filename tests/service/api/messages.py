"""Pulls as they are sent, and what a problem says."""


def pull(id="1", client="a", arm="x", reward=0.5, **more):
    """A pull as it is sent."""
    return {"id": id, "client": client, "arm": arm, "reward": reward} | more


def kind(response):
    """The problem's kind, of a body as RFC 9457 has it."""
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == response.status_code
    return problem["type"].removeprefix("urn:tutelage:problem:")
