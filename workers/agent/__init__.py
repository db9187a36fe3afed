"""The agent: a PySpark driver that moves records and keeps the ledger. Imports `pipelines.domain` and no Django."""
