"""Lines of files, by byte ranges. No Spark in it."""
