"""Where a query stands: Spark's checkpoint, and the guard that compares it with ledger, log and group."""
