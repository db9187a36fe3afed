"""The command about diagnostic bundles."""
