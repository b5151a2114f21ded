"""The audit of a folder of segments in one process, without Spark."""
