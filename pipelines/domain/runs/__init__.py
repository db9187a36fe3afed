"""The life of an agent: its run directory, its lineage, and how it ends."""
