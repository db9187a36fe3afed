"""Whose word about the client's address is taken: that of proxies that an administrator has named."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address, ip_address

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
HEADER = "HTTP_X_FORWARDED_FOR"


class TrustedProxies:
    """Gives a request the address of its client: of the connection, or the last one in X-Forwarded-For that is no
    trusted proxy where a trusted proxy sent it."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        forwarded = request.META.pop(HEADER, "")
        request.META["REMOTE_ADDR"] = client(str(request.META.get("REMOTE_ADDR") or ""), forwarded)
        return self.get_response(request)


def client(peer: str, forwarded: str) -> str:
    """The address of the client, given that of the connection and the text of X-Forwarded-For. What cannot be read ends
    the search: the address before it is the best that is known."""
    found = peer
    for hop in reversed(forwarded.split(",") if forwarded else []):
        if not _is_trusted(found):
            break
        address = _parsed(hop.strip())
        if address is None:
            break
        found = str(address)
    return found


def _is_trusted(text: str) -> bool:
    address = _parsed(text)
    return address is not None and any(address in network for network in settings.HEADGATE.trusted_proxies)


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
