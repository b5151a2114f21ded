"""Files with answers of `what-if --json`, for the page."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import orjson

from rebalance_audit.errors import BadRequest
from rebalance_audit.limits import ANSWER_BYTES
from rebalance_audit.report.html.what_if import what_if_section


def what_if_sections(files: Iterable[Path], listed: Collection[str]) -> list[dict[str, Any]]:
    """A section for each file. Raises OSError, and BadRequest that names the file for what is no answer."""
    return [_section(file, listed) for file in files]


def _section(file: Path, listed: Collection[str]) -> dict[str, Any]:
    with file.open("rb") as opened:
        text = opened.read(ANSWER_BYTES.most + 1)
    if len(text) > ANSWER_BYTES.most:
        raise BadRequest(f"{file} is larger than an answer of what-if can be.")
    try:
        return what_if_section(orjson.loads(text), listed)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"{file} is not JSON: {error}.") from None
    except KeyError as error:
        raise BadRequest(
            f"{file} is not what `what-if --json` prints: {error} is missing."
        ) from None
    except (TypeError, ValueError, AttributeError) as error:
        raise BadRequest(f"{file} is not what `what-if --json` prints: {error}.") from None
