"""Entry point for spark-submit: `rebalance-audit ingest`, with its arguments and exit codes.

spark-submit --py-files dist/rebalance_audit.zip jobs/ingest.py --source kafka:HOST:PORT --lake DIR --cluster NAME
"""

import sys

from rebalance_audit.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["ingest", *sys.argv[1:]]))
