"""Where records come from: segment files, a live cluster, a Delta table."""
