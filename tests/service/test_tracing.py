"""Traces, as an OTLP receiver gets them."""

import http.server
import subprocess
import sys
import threading

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.service.conftest import InProcessServer

from tutelage.errors import InputError
from tutelage.service import tracing

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HEADERS = {"traceparent": f"00-{TRACE}-{CALLER}-01"}


class Receiver(http.server.ThreadingHTTPServer):
    """An OTLP receiver over HTTP that keeps what it is sent."""

    def __init__(self):
        self.sent = sent = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") is None and self.path == "/v1/traces":
                    sent.extend(ExportTraceServiceRequest.FromString(body).resource_spans)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                """Write nothing."""

        super().__init__(("127.0.0.1", 0), Handler)

    def spans(self):
        """Every span, in order of its begin."""
        found = [span for one in self.sent for scope in one.scope_spans for span in scope.spans]
        return sorted(found, key=lambda span: span.start_time_unix_nano)


@pytest.fixture
def receiver(monkeypatch):
    """A receiver to which servers of the test send."""
    with Receiver() as one:
        thread = threading.Thread(target=one.serve_forever)
        thread.start()
        monkeypatch.setenv(ENDPOINT, f"http://127.0.0.1:{one.server_port}")
        yield one
        one.shutdown()
        thread.join()


def attributes(span):
    """The attributes of a span or a resource."""
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


def test_a_request_is_a_trace(url, receiver):
    """The caller's span is the parent of the request, which holds queue, commit and consultation."""
    server = InProcessServer(url)
    server.create(teacher="blt", horizon=2_000)
    pulls = [
        {"id": str(number), "client": "ab"[number % 2], "arm": "xy"[number // 2 % 2], "reward": 0.25}
        for number in range(600)
    ]
    assert server.pull(*pulls, headers=HEADERS).status_code == 200
    assert server.call("GET", "/nowhere").status_code == 404
    server.close()
    spans = [span for span in receiver.spans() if span.trace_id.hex() == TRACE]
    (request,) = [span for span in spans if span.name == "POST /v1/campaigns/{name}/pulls"]
    assert request.parent_span_id.hex() == CALLER
    assert request.kind == request.SPAN_KIND_SERVER
    own = attributes(request)
    assert (own["tutelage.campaign"], own["http.response.status_code"]) == ("c", 200)
    parts = [span for span in spans if span is not request]
    assert {span.name for span in parts} == {"queue", "consultation", "commit"}
    for span in parts:
        assert span.parent_span_id == request.span_id
        begun, ended = span.start_time_unix_nano, span.end_time_unix_nano
        assert request.start_time_unix_nano <= begun <= ended <= request.end_time_unix_nano
    by_name = {span.name: span for span in parts}
    assert by_name["queue"].end_time_unix_nano <= by_name["consultation"].start_time_unix_nano
    assert by_name["consultation"].end_time_unix_nano <= by_name["commit"].start_time_unix_nano
    assert attributes(receiver.sent[0].resource)["service.name"] == "tutelage"
    (lost,) = [span for span in receiver.spans() if span.name == "GET"]
    assert (lost.trace_id.hex() != TRACE, lost.parent_span_id) == (True, b"")


def test_a_forwarded_request_keeps_its_trace(receiver):
    """The leader's span gets this server's as its parent, instead of the caller's."""
    own = tracing.open_tracing()
    span = own.begin({name.encode(): text.encode() for name, text in HEADERS.items()}, "GET")
    sent = dict(own.pass_on({"headers": [(b"traceparent", HEADERS["traceparent"].encode()), (b"a", b"b")]})["headers"])
    span.finish("GET", 200, {})
    own.close()
    (found,) = receiver.spans()
    assert sent == {b"a": b"b", b"traceparent": f"00-{TRACE}-{found.span_id.hex()}-01".encode()}


def test_tracing_is_off_by_default(monkeypatch):
    """Without an endpoint, or with OpenTelemetry's own switch; nothing of it is imported then."""
    monkeypatch.delenv(ENDPOINT, raising=False)
    assert tracing.open_tracing({}) is None
    assert tracing.open_tracing({ENDPOINT: "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"}) is None
    code = "import sys, tutelage.service.app; print('opentelemetry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_an_endpoint_without_the_extra_is_an_error(monkeypatch):
    """The sentence names the variable and what to install."""
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(InputError, match=r"OTEL_EXPORTER_OTLP_ENDPOINT is set.*install tutelage\[tracing\]"):
        tracing.open_tracing({ENDPOINT: "http://127.0.0.1:4318"})
