"""Every read: rows in, views out."""
