"""Configurations of connectors as Kafka Connect reads them."""
