"""Lag, alerts, external consumer groups, and webhooks."""
