"""The ledger: journals taken in, old rows merged, and what deleting keeps."""
