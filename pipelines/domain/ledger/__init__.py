"""The account of every batch, and the journal that it is written to."""
