"""audit.py [--osv-url URL]: known holes in what constraints.txt pins, asked of PyPI by pip-audit.

Ends with 1 when there is one. A service that can't be asked does not stop anybody who works offline, but it is said in
capitals: no answer is not "no known vulnerabilities".
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

PINS = Path(__file__).parents[1] / "constraints.txt"
PROBE = "pip==26.3\n"  # on PyPI for certain: a service that does not know it knows nothing
SECONDS = 300.0
Dependency = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    options = read_options(arguments)
    service = ["--vulnerability-service", "osv", "--osv-url", options.osv_url] if options.osv_url else []
    try:
        if unanswered(ask(PROBE, service)):
            raise Unanswered("it does not know pip itself: a mirror without the JSON API?")
        found = ask(options.pins.read_text(), service)
    except Unanswered as why:
        say([f"NOT AUDITED: the service for known vulnerabilities could not be asked: {why}"])
        return 0
    say(report(found))
    return 1 if any(one.get("vulns") for one in found) else 0


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[2])
    parser.add_argument("--pins", type=Path, default=PINS, help="a file of pinned requirements")
    parser.add_argument("--osv-url", help="ask this OSV service and not PyPI")
    return parser.parse_args(arguments)


class Unanswered(Exception):
    """The service could not be asked; why stands in the text."""


def ask(pins: str, service: Sequence[str]) -> list[Dependency]:
    """What pip-audit finds for each of `pins`, `name==version` a line."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = Path(folder) / "pins.txt", Path(folder) / "answer.json"
        asked.write_text(pins)
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(asked), "--no-deps", "--disable-pip"]
        command += ["--progress-spinner", "off", "--format", "json", "--output", str(answer), *service]
        try:
            done = subprocess.run(  # noqa: S603 - our own command, no shell
                command, capture_output=True, text=True, check=False, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            raise Unanswered(f"no answer within {SECONDS:g} s") from None
        if not answer.exists():
            raise Unanswered((done.stderr.strip().splitlines() or ["pip-audit says nothing"])[-1])
        found: list[Dependency] = json.loads(answer.read_text())["dependencies"]
        return found


def unanswered(found: Iterable[Dependency]) -> list[Dependency]:
    """Those that pip-audit has left out."""
    return [one for one in found if "skip_reason" in one]


def report(found: Sequence[Dependency]) -> list[str]:
    """A line for each hole, and one for what was not audited."""
    lines = [
        f"{one['name']} {one['version']}: {hole['id']}, mended in {', '.join(hole['fix_versions']) or 'no version yet'}"
        for one in found
        for hole in one.get("vulns", ())
    ]
    if left := unanswered(found):
        lines.append(f"NOT AUDITED: {', '.join(str(one['name']) for one in left)}")
    return lines or [f"no known vulnerabilities in {len(found)} packages"]


def say(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr)  # noqa: T201 - a script


if __name__ == "__main__":
    sys.exit(main())
