"""Agents as users of their own: which one, and what is handed over to it."""
