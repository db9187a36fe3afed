"""The session, secrets, and who may do what."""
