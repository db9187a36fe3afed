"""Lag, alerts, external consumer groups, webhooks, and the stream of events."""
