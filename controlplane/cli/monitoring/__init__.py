"""Commands about alerts, lag, consumer groups and webhooks."""
