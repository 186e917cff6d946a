import re
from typing import Any

import pytest
import yaml

from brokers.apache import REPOSITORY
from watchline.cli.commands import ENTRIES
from watchline.schemas.topics import PARTITIONS

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


def test_a_new_log_and_its_partitions_are_told_to_all_that_read_it(services: dict[str, dict[str, Any]]) -> None:
    told = [services[name]["environment"] for name in ("topics", "streams", "sink")]

    assert [one["WATCHLINE_LOG_EPOCH"] for one in told] == ["${WATCHLINE_LOG_EPOCH:-0}"] * 3
    assert [one["WATCHLINE_PARTITIONS"] for one in told] == [f"${{WATCHLINE_PARTITIONS:-{PARTITIONS}}}"] * 3


def test_every_service_is_healthy_once_it_has_touched_its_ready_file(services: dict[str, dict[str, Any]]) -> None:
    for name in ("streams", "sink", "notifier"):
        path = services[name]["environment"]["WATCHLINE_READY_FILE"]

        assert services[name]["healthcheck"]["test"] == ["CMD", "test", "-f", path]
        assert services[name]["read_only"]
        assert path.startswith(services[name]["tmpfs"][0])


def test_every_command_is_one_of_the_program(services: dict[str, dict[str, Any]]) -> None:
    commands = {name: service["command"][0] for name, service in services.items() if "command" in service}

    assert set(commands) == SERVICES - {"kafka", "postgres"}
    assert set(commands.values()) <= set(ENTRIES)


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
