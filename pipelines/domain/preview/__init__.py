"""Two revisions on the same records: what is read, what differs, and what may be shown of it."""
