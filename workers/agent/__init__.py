"""The agent: a PySpark driver that moves records and keeps the books. Imports `pipelines.domain` and no Django."""
