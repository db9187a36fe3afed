"""The installation, and diagnostic bundles of it and of pipelines."""
