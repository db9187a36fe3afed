"""Observe, record, decide, act: once a second for every pipeline of the host."""
