"""What happened: the ledger, runs, and the audit."""
