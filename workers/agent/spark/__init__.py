"""The JVM, the session, the executors, and the cluster that they run on."""
