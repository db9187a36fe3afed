"""Lag, alerts, consumer groups of others, and webhooks."""
