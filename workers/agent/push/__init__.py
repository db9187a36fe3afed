"""The ingest buffer: what was pushed is kept here until every required channel has delivered it. No Spark in it."""
