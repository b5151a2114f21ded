"""What the DAGs of rebalance-audit share. Imports only Airflow: spark-submit does the work."""
