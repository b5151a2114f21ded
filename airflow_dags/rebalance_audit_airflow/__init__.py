"""What the DAGs of rebalance-audit share. Imports Airflow and nothing else: the work is done by spark-submit."""
