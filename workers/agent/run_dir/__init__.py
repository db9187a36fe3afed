"""The files of a run, and the processes beside it: orders, journal, keeper and JVM."""
