"""Which webhook addresses may be posted to."""

from __future__ import annotations

import pytest

from watchline.consumers.notifier.address import addresses_of, check_webhook
from watchline.schemas.errors import Misconfigured

SECRET = "T0000/B0000/canary"
GOOD = f"https://hooks.slack.com/services/{SECRET}"
HOSTS = ("hooks.slack.com",)


def public(_: str) -> list[str]:
    return ["3.95.117.96", "2606:4700::1"]


def test_slack_over_https_is_allowed() -> None:
    check_webhook(GOOD, HOSTS, resolve=public)
    check_webhook(GOOD.replace("hooks.slack.com", "HOOKS.slack.com:443"), HOSTS, resolve=public)


@pytest.mark.parametrize(
    "url",
    [
        f"http://hooks.slack.com/services/{SECRET}",
        f"https://hooks.slack.com.evil.example/{SECRET}",
        f"https://evil.example/{SECRET}",
        f"https://hooks.slack.com@evil.example/{SECRET}",
        f"https://user:pw@hooks.slack.com/{SECRET}",
        f"https://hooks.slack.com:8443/{SECRET}",
        f"https://hooks.slack.com:port/{SECRET}",
        f"https://169.254.169.254/{SECRET}",
        f"https://[::1/{SECRET}",
        f"ftp://hooks.slack.com/{SECRET}",
        f"file:///{SECRET}",
        f"hooks.slack.com/{SECRET}",
        f"https://hooks.slack.com/{SECRET}\nHost: evil.example",
        "",
        f"https://xn--a.example/{SECRET}",
        f"https://a..example/{SECRET}",
        f"https://{'a' * 64}.example/{SECRET}",
        f"https://h\u00f6oks.slack.com/{SECRET}",
        f"https://\ud800.example/{SECRET}",
    ],
)
def test_any_other_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        check_webhook(url, HOSTS, resolve=public)

    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "::1", "fe80::1%eth0", "fd00::1", "0.0.0.0"]
)
def test_an_allowed_name_with_a_private_address_is_refused(address: str) -> None:
    with pytest.raises(Misconfigured, match="private"):
        check_webhook(GOOD, HOSTS, resolve=lambda _: ["3.95.117.96", address])


def test_a_name_that_cannot_be_resolved_now_may_be_later() -> None:
    check_webhook(GOOD, HOSTS, resolve=lambda _: [])


@pytest.mark.parametrize("host", ["xn--a.example", "a..example", "a" * 64 + ".example", "\ud800.example"])
def test_no_check_is_lifted_for_a_host_that_is_no_name(host: str) -> None:
    with pytest.raises(Misconfigured, match=r"it is no URL|outside ASCII") as caught:
        check_webhook(f"https://{host}/{SECRET}", [host], allow_insecure=True)

    assert SECRET not in str(caught.value)


def test_a_host_that_cannot_be_looked_up_has_no_addresses() -> None:
    assert addresses_of("a..example") == []


def test_a_test_may_lift_the_checks_but_not_have_no_url() -> None:
    check_webhook("http://127.0.0.1:8080/x", HOSTS, allow_insecure=True)

    with pytest.raises(Misconfigured):
        check_webhook("nonsense", HOSTS, allow_insecure=True)
