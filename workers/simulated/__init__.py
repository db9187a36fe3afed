"""Hosts in memory with agents that obey the protocol, under the real supervisor: for tests, and for `simulate`."""
