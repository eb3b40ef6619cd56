"""Traces by OpenTelemetry, with the extra `tracing`: where the time of a request went.

A request's span has the caller's span as its parent, if the header ``traceparent`` names one, and these children:
``queue``, until the writer takes the request up; ``commit``, which requests of a group share; and
``consultation``, for each that the request's group caused in its campaign.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tutelage.errors import InputError
from tutelage.versions import package_version

_SWITCHES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_TIMEOUTS = ("OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT")
_SEND_SECONDS = 2.0  # with retries, unless a variable says otherwise: the server's end waits that long at most
Span = tuple[int, int]  # begin and end, in nanoseconds since 1970


@dataclass(slots=True)
class GroupTimes:
    """When the writer took a group of jobs up, committed it, and consulted teachers, by campaign."""

    taken: int
    commit: Span | None = None
    consulted: dict[str, list[Span]] = field(default_factory=dict)


class RequestSpan:
    """The span of a request, which is the current one until :meth:`finish`; no span without tracing."""

    def __init__(self, tracing: "Tracing", headers: Mapping[bytes, bytes], name: str) -> None:
        from opentelemetry import context, trace

        found = {each: headers[each.encode()].decode("latin-1") for each in tracing.fields if each.encode() in headers}
        parent = tracing.propagator.extract(found, context=context.Context())
        self._span = tracing.tracer.start_span(name, parent, trace.SpanKind.SERVER)
        self._token = context.attach(trace.set_span_in_context(self._span))

    def finish(self, name: str, status: int, attributes: Mapping[str, str]) -> None:
        """End it; a status of 0 is a request that was cut off."""
        from opentelemetry import context, trace

        context.detach(self._token)
        self._span.update_name(name)
        self._span.set_attributes({each: text for each, text in attributes.items() if text})
        self._span.set_attribute("http.response.status_code", status)
        if not status or status >= 500:
            self._span.set_status(trace.StatusCode.ERROR)
        self._span.end()


class Tracing:
    """Sends spans to the receiver that OpenTelemetry's environment variables name."""

    def __init__(self) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        own = Resource.create({"service.name": "tutelage", "service.version": package_version()})
        self._provider = TracerProvider(resource=own.merge(OTELResourceDetector().detect()))
        timeout = None if any(map(os.environ.get, _TIMEOUTS)) else _SEND_SECONDS
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=timeout)))
        self.tracer, self.propagator = self._provider.get_tracer("tutelage"), TraceContextTextMapPropagator()
        self.fields = sorted(self.propagator.fields)

    def begin(self, headers: Mapping[bytes, bytes], name: str) -> RequestSpan:
        """Begin a request's span."""
        return RequestSpan(self, headers, name)

    def record(self, campaign: str, asked: int, times: GroupTimes) -> None:
        """Add the spans of a job to the current one; the job was asked at ``asked``, nanoseconds since 1970."""
        spans = [("queue", (asked, times.taken)), *(("consultation", one) for one in times.consulted.get(campaign, ()))]
        if times.commit:
            spans.append(("commit", times.commit))
        for name, (begun, ended) in spans:
            found = self.tracer.start_span(name, start_time=begun, attributes={"tutelage.campaign": campaign})
            found.end(ended)

    def pass_on(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        """Return the scope with the current span as that of the caller, for the server that leads the campaign."""
        carrier: dict[str, str] = {}
        self.propagator.inject(carrier)
        sent = [(name, text) for name, text in scope["headers"] if name.decode("latin-1") not in self.fields]
        sent += [(name.encode(), text.encode()) for name, text in carrier.items()]
        return {**scope, "headers": sent}

    def close(self) -> None:
        """Send what was not sent yet."""
        self._provider.shutdown()


def open_tracing(environment: Mapping[str, str] = os.environ) -> Tracing | None:
    """Return the tracing that OpenTelemetry's variables switch on, or None.  ``InputError`` without the extra."""
    switch = next((each for each in _SWITCHES if environment.get(each)), None)
    if switch is None or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    try:
        return Tracing()
    except ModuleNotFoundError as error:
        raise InputError(
            f"{switch} is set, but {error.name} is not installed: install tutelage[tracing], or unset the variable."
        ) from None
