"""What becomes of the settings of a connector."""
