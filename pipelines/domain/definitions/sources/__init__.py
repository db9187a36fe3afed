"""What sources have in common."""
