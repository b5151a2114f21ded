"""Entry point for spark-submit: `rebalance-audit predict`, with its arguments and exit codes.

spark-submit --py-files dist/rebalance_audit.zip jobs/predict.py --lake DIR --cluster NAME
"""

import sys

from rebalance_audit.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["predict", *sys.argv[1:]]))
