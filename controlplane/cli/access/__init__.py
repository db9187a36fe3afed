"""Commands about secrets, tokens and users."""
