"""`python -m workshop.tlaplus --write`: the specifications in TLA+, for TLC; `--check` says what is stale."""

import sys

from workshop import generated_files
from workshop.tlaplus.modules import due

if __name__ == "__main__":
    sys.exit(generated_files.main(due))
