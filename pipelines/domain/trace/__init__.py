"""Where one record went: what the ledger proves, what is evaluated again, what is found. Pure."""
