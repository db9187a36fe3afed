"""Tools and jars: found on the machine, else fetched and checked."""
