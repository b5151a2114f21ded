"""From segments or Delta copies of the log to Delta tables, with Spark; and what reads those tables without it."""
