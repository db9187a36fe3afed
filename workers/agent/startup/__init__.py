"""Everything before the first record, and the programs that check without running."""
