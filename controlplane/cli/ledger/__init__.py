"""Commands that read: status, ledger, runs, logs, events."""
