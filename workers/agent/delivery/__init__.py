"""Queries and their batches: gate, plan, delivery, ledger entries, dead letters."""
