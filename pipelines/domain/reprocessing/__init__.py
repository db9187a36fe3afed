"""Records that are processed again: dead letters, and ranges that are replayed."""
