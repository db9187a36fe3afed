"""Sources that are read by range instead of from a broker."""
