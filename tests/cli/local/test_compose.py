import re
from typing import Any

import pytest
import yaml

from brokers.apache import REPOSITORY

TEXT = (REPOSITORY / "docker-compose.yml").read_text()
SERVICES = {"kafka", "postgres", "migrate", "topics", "streams", "sink", "notifier"}
ONCE = {"migrate", "topics"}


@pytest.fixture
def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["services"]
    return found


def test_it_runs_every_part_of_watchline(services: dict[str, dict[str, Any]]) -> None:
    assert set(services) == SERVICES


def test_what_keeps_running_has_a_health_check(services: dict[str, dict[str, Any]]) -> None:
    assert {name for name, service in services.items() if "healthcheck" in service} == SERVICES - ONCE


def test_nothing_starts_before_what_it_needs(services: dict[str, dict[str, Any]]) -> None:
    for service in services.values():
        for needed, how in service.get("depends_on", {}).items():
            wanted = "service_completed_successfully" if needed in ONCE else "service_healthy"
            assert how == {"condition": wanted}

    assert set(services["sink"]["depends_on"]) == {"kafka", "postgres", "topics", "migrate"}
    assert "migrate" in services["notifier"]["depends_on"]
    assert "topics" in services["streams"]["depends_on"]


def test_no_password_stands_in_it() -> None:
    passwords = re.findall(r"(?i)password\w*\s*[:=]\s*(\S+)", re.sub(r"\$\{[^}]*\}", "GIVEN", TEXT))
    in_urls = re.findall(r"://[^:/\s]+:([^@\s]+)@", re.sub(r"\$\{[^}]*\}", "GIVEN", TEXT))

    assert passwords
    assert in_urls
    assert set(passwords + in_urls) == {"GIVEN"}


def test_a_missing_password_stops_the_start() -> None:
    assert all(given.startswith("POSTGRES_PASSWORD:?") for given in re.findall(r"\$\{(POSTGRES_PASSWORD[^}]*)\}", TEXT))


def test_ports_are_open_to_this_machine_only(services: dict[str, dict[str, Any]]) -> None:
    ports = [port for service in services.values() for port in service.get("ports", [])]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
