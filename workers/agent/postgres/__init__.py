"""PostgreSQL: bounded connections, tables, rows, transactions."""
