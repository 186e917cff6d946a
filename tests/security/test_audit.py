"""The step of `make check` that asks for known holes: with a service that knows some, and with none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from brokers.apache import REPOSITORY

HOLE = {
    "id": "GHSA-0000-0000-0000",
    "summary": "a hole",
    "modified": "2026-11-30T00:00:00Z",
    "published": "2026-11-30T00:00:00Z",
    "affected": [
        {
            "package": {"name": "holey", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.1"}]}],
        }
    ],
}


class Service(BaseHTTPRequestHandler):
    """An OSV service that knows one hole, in the package `holey`."""

    def do_POST(self) -> None:  # the name that http.server asks for
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"vulns": [HOLE]} if asked["package"]["name"] == "holey" else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def audit(pins: str, url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "pins.txt"
    file.write_text(pins)
    command = [sys.executable, str(REPOSITORY / "scripts" / "audit.py"), "--pins", str(file), "--osv-url", url]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_known_hole_fails_and_names_the_version_that_mends_it(tmp_path: Path) -> None:
    with service() as url:
        done = audit("click==8.3.3\nholey==1.0 ; sys_platform != 'none'\n", url, tmp_path)

    assert done.returncode == 1
    assert "holey 1.0: GHSA-0000-0000-0000, mended in 1.1" in done.stderr


def test_packages_without_a_known_hole_pass(tmp_path: Path) -> None:
    with service() as url:
        done = audit("click==8.3.3\n", url, tmp_path)

    assert (done.returncode, done.stderr) == (0, "no known vulnerabilities in 1 packages\n")


def test_a_service_that_does_not_answer_is_said_loudly_and_stops_nobody(tmp_path: Path) -> None:
    done = audit("holey==1.0\n", "http://127.0.0.1:1/v1/query", tmp_path)

    assert done.returncode == 0
    assert done.stderr.startswith("NOT AUDITED: ")
    assert "no known vulnerabilities" not in done.stderr
