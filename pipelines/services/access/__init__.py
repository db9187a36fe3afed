"""Users, tokens, sessions and secrets."""
