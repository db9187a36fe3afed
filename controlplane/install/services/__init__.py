"""Redis and Kafka as child processes: started, waited for, stopped by identity."""
