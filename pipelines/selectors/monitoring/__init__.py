"""Reading lag, alerts, events, external consumer groups, and webhooks."""
