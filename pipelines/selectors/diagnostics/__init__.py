"""What diagnostic bundles say of the installation, and the values that they must not have."""
