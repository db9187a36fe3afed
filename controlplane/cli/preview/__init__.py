"""The command about previews."""
