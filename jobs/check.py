"""Entry point for spark-submit: `rebalance-audit check`, with its arguments and exit codes.

spark-submit --py-files dist/rebalance_audit.zip jobs/check.py --lake DIR --json
"""

import sys

from rebalance_audit.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["check", *sys.argv[1:]]))
