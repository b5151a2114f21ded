"""Entry point for spark-submit: `rebalance-audit report`, with its arguments and exit codes. Uses no Spark itself.

spark-submit --py-files dist/rebalance_audit.zip jobs/report.py --lake DIR --out FILE.html
"""

import sys

from rebalance_audit.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["report", *sys.argv[1:]]))
