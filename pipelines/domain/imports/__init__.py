"""What importers of every format share: properties with their lines, the values they become, and the report."""
