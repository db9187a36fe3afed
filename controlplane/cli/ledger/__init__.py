"""The command about the ledger."""
