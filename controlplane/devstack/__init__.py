"""The whole of Headgate in one foreground process: embedded Redis and Kafka, the worker and the web server."""
