"""Set-up of a machine: Java, jars, the agents' module for the JVM and class-data archive, Redis, the dashboard's build.

Nothing here needs Django, so that it works before there is a database or a settings file.
"""
