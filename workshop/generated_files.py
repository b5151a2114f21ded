"""Files of the checkout that are made of the project's own tables: one command line that writes or checks them."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


def main(due: Callable[[], Mapping[Path, str]], arguments: Sequence[str] | None = None) -> int:
    """Write the stale files (`--write`), or list them (`--check`: exit code 1 if there is one).

    `due` gives path and text of each. `arguments` are those of the process unless given. Anything but one of the two
    flags ends the process with 2.
    """
    parser = argparse.ArgumentParser()
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--write", action="store_true", help="write what is stale")
    task.add_argument("--check", action="store_true", help="only list what is stale")
    only_check = parser.parse_args(arguments).check
    stale = {path: text for path, text in due().items() if not _holds(path, text)}
    for path, text in stale.items():
        if only_check:
            sys.stderr.write(f"{path} is stale: run `make codegen`\n")
        else:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{path} written\n")
    return 1 if only_check and stale else 0


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text
