"""Entry point for spark-submit: `rebalance-audit maintain`, with its arguments and exit codes.

spark-submit --py-files dist/rebalance_audit.zip jobs/maintain.py --lake DIR
"""

import sys

from rebalance_audit.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["maintain", *sys.argv[1:]]))
