"""Lag, alerts, external consumer groups, and receivers."""
