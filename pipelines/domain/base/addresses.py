"""Addresses of the network: what one text stands for, and what another address carries inside itself."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NAT64 = IPv6Network("64:ff9b::/96")
_THIS = IPv4Network("0.0.0.0/8")
_METADATA = tuple(map(ipaddress.ip_address, ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16")))


def address_of(host: str) -> Address | None:
    """The address that a text is; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def faces(address: Address) -> list[Address]:
    """The addresses that a connection to one may reach: itself, and those that it carries inside."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    inside = [address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        inside.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [address, *(each for each in inside if each is not None)]


def is_reserved(address: Address) -> str:
    """Why nothing is connected to an address unless an administrator allows it; empty where there is no reason."""
    if address in _METADATA:
        return "an address of a cloud's metadata"
    if address.is_loopback:
        return "a loopback address"
    if address.is_link_local:
        return "a link-local address"
    if address.is_unspecified or (address.version == 4 and address in _THIS):
        return "an address of this machine"
    return "a multicast address" if address.is_multicast else ""
