"""Lag, alerts, external consumer groups, receivers, and the stream of events."""
