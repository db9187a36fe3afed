"""The installation, and the values that diagnostic bundles must not have."""
