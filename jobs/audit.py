"""Entry point for spark-submit: `rebalance-audit run`, with its arguments and exit codes.

spark-submit --py-files dist/rebalance_audit.zip jobs/audit.py --source segments:DIR --lake DIR
"""

import sys

from rebalance_audit.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["run", *sys.argv[1:]]))
