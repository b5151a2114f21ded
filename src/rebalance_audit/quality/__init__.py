"""Data quality: Great Expectations suites made from the checks in schemas/tables, and what they found."""
