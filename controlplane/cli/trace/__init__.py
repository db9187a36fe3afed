"""The command about traces."""
