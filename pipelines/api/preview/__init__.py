"""Previews of revisions."""
