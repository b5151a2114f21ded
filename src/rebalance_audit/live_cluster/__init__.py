"""A live Kafka cluster: how a client logs in to it, and what the cluster says about itself. Without Spark."""
