"""Commands about secrets."""
