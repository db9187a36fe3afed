"""What runs in the agents' JVM beside Spark, in Scala: compiled at set-up, see `controlplane.provision.module`."""
