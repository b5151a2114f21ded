"""What checks of a lake read with Spark, and where their results are kept."""
