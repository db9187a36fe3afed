"""A properties file as Flume reads it: its agents, and what Flume would run of each."""
