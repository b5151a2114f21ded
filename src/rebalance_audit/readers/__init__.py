"""The tables of a lake without Spark: Arrow, delta-rs, DuckDB."""
