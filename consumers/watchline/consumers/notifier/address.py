"""Whether a webhook address may be posted to: it is a secret, and a place that data leaves for."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable
from urllib.parse import SplitResult, urlsplit

import httpx

from watchline.schemas.errors import Misconfigured

HINT = "copy the address from Slack, Incoming Webhooks; other hosts go into WATCHLINE_SLACK_ALLOWED_HOSTS"
Resolve = Callable[[str], Iterable[str]]
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # the last 32 bits are an IPv4 address
# Of IPv6 only this much is the open internet, or leads to IPv4: `is_global` calls public what is merely unassigned.
IPV6_IN_USE = (ipaddress.IPv6Network("2000::/3"), NAT64, ipaddress.IPv6Network("::ffff:0:0/96"))
DOCUMENTATION = ipaddress.IPv6Network("3fff::/20")  # not known to Python 3.11
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Refused(Misconfigured):
    """An address that nothing may be sent to; `why` holds no piece of its path."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the Slack webhook address is refused: {why}", hint=HINT)
        self.why = why


def addresses_of(host: str) -> list[str]:
    """The addresses that `host` has now; none when it can't be resolved, which later attempts may."""
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):  # the latter: it is no name
        return []


def check_webhook(
    url: str, allowed_hosts: Iterable[str], *, allow_insecure: bool = False, resolve: Resolve = addresses_of
) -> None:
    """Raise `Misconfigured`, without the address in it, unless `url` is https at an allowed public host."""
    parts = _split(url)
    if allow_insecure:
        return
    if parts.scheme != "https":
        raise Refused(f"it must be https, not {parts.scheme}")
    if parts.username is not None or parts.password is not None or parts.port not in (None, 443):
        raise Refused("it must have neither a user nor a port")
    if parts.hostname not in {host.lower() for host in allowed_hosts}:
        raise Refused(f"the host {parts.hostname} is not allowed")
    public_addresses(parts.hostname, resolve=resolve)


def public_addresses(host: str, *, resolve: Resolve = addresses_of) -> list[str]:
    """The addresses of `host` as of now, all of them public; `Misconfigured` names one that is not.

    Connect to one of these and ask no resolver again: its next answer may be another one.
    """
    found = list(resolve(host))
    for address in found:
        if not is_public(address):
            raise Refused(f"the host {host} has the private address {address}")
    return found


def is_public(address: str) -> bool:
    """Whether an address is one of the open internet, and the IPv4 address that stands within an IPv6 one, too."""
    found = ipaddress.ip_address(address.partition("%")[0])
    return all(one.is_global and not one.is_multicast and _in_use(one) for one in (found, *_within(found)))


def _in_use(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return True
    return address not in DOCUMENTATION and any(address in network for network in IPV6_IN_USE)


def _within(address: Address) -> list[Address]:
    if isinstance(address, ipaddress.IPv4Address):
        return []
    last = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF) if address in NAT64 else None
    return [one for one in (address.ipv4_mapped, address.sixtofour, last) if one is not None]


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises when it is no number
    except ValueError:
        raise Refused("it is no URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused("it must begin with https:// and name a host")
    if any(not 0x20 < ord(character) < 0x7F for character in url):
        raise Refused("it contains a space or a character outside ASCII")
    _check_name(url, parts.hostname)
    return parts


def _check_name(url: str, host: str) -> None:
    """Refuse a host that neither the resolver nor httpx could read later."""
    try:
        host.encode("idna")
        _ = httpx.URL(url).host  # raises when it is no name
    except (ValueError, httpx.InvalidURL):
        raise Refused("it is no URL: the host is no name") from None
