"""The source and the sink of Kafka in the module for the agents' JVM (workers/agent/jvm)."""

PROVIDER = "org.apache.spark.sql.kafka010.HeadgateKafkaProvider"
