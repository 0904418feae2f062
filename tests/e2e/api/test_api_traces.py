"""Traces and logs of a real service, sent to a server that speaks OTLP over HTTP."""

import gzip
import json
import signal
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.e2e.api.test_api_server import ask, served, wait_until

TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def collector():
    """Yield the address of a collector, and the spans it has received with their services."""
    found = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                named = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
                found.extend((named["service.name"], span) for scope in resource.scope_spans for span in scope.spans)
            self.send_response(200 if self.path == "/v1/traces" else 404)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", found
        server.shutdown()


def requested_job(address, origin):
    """Add a repository as a tracing caller does, and return the job."""
    headers = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01", "X-Request-ID": "asked-here"}
    body = json.dumps({"origin": str(origin)}).encode()
    request = urllib.request.Request(address + "/repos", body, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["job_id"]


def test_requests_stages_and_jobs_are_traced_and_logged_with_their_ids(workspace, collector, monkeypatch):
    endpoint, found = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    origin = workspace.repository("core", {"retry.py": "def retry_later(job):\n    return job\n"}).folder
    commit = workspace.work_tree("core").git("rev-parse", "HEAD")
    with served(workspace, "--set", f"api.local_roots={workspace.folder}") as (process, address):
        job_id = requested_job(address, origin)
        wait_until(lambda: json.loads(ask(address, f"/jobs/{job_id}")[1])["state"] == "done")
        assert ask(address, "/search-code", {"query": "retry_later"})[0] == 200
        process.send_signal(signal.SIGTERM)
        events = [json.loads(line) for line in process.stderr.read().splitlines() if line.startswith("{")]
        assert process.wait(60) == 0
    assert {service for service, _ in found} == {"codequarry-api"}
    by_name = {span.name: span for _, span in found}
    search = by_name["POST /search-code"]
    stages = {span.name for _, span in found if span.parent_span_id == search.span_id}
    assert stages == {f"search.{name}" for name in ("parse", "scope", "embed", "recall", "rank", "answer")}
    phases = {span.name for _, span in found if span.parent_span_id == by_name["job"].span_id}
    named = ("fetching", "scanning", "indexing", "file_history", "history", "publishing")
    assert phases == {f"job.{name}" for name in named}
    added, job = by_name["POST /repos"], by_name["job"]
    assert added.trace_id == job.trace_id == bytes.fromhex(TRACE)
    assert job.parent_span_id == added.span_id
    assert "retry_later" not in str(found)
    asked = next(event for event in events if event["event"] == "job asked for")
    done = next(event for event in events if event["event"] == "job")
    assert asked["job_id"] == done["job_id"] == job_id
    assert asked["request_id"] == done["request_id"] == "asked-here"
    assert asked["trace_id"] == TRACE
    assert (done["repo"], done["commit"]) == ("core", commit)
