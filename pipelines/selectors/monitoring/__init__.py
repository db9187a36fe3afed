"""Reading lag, alerts, events, consumer groups of others, and webhooks."""
