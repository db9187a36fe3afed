"""Lag, alerts, consumer groups of others, webhooks, and the stream of events."""
