"""Files of rollouts: JSON as the tools export it, lines of JSON, or the CSV of `audit.deploys.csv_rows`."""

import csv
import gzip
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, Final

import orjson

from rebalance_audit.audit.deploys.csv_rows import COLUMNS, NEEDED, fault_of
from rebalance_audit.audit.deploys.kubernetes import lists_in
from rebalance_audit.audit.deploys.read import DeployCollector, DeploysRead
from rebalance_audit.limits import DEPLOY_FILE_BRACKETS, DEPLOY_FILE_BYTES
from rebalance_audit.wire.segments.folder import SourceNotReadable, not_readable
from rebalance_audit.wire.segments.regular_file import open_regular

_GZIP: Final = b"\x1f\x8b"
_FIELD_MAX: Final = 64 << 10


def read_deploys(paths: Iterable[Path]) -> DeploysRead:
    """The rollouts of all files. Raises SourceNotReadable that names the file, and its line in a CSV."""
    collector = DeployCollector()
    for path in paths:
        try:
            content = _content(path)
        except (EOFError, zlib.error) as error:
            raise SourceNotReadable(f"{path} is no complete gzip file: {error}.") from error
        except OSError as error:
            raise not_readable(path, error) from error
        stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
        collector.read(str(path), stem, _items(path, content))
    return collector.found()


def _content(path: Path) -> bytes:
    with os.fdopen(open_regular(path), "rb") as file:
        packed = file.peek(2)[:2] == _GZIP
        source = gzip.GzipFile(fileobj=file) if packed else file
        content = source.read(DEPLOY_FILE_BYTES.most + 1)
    if len(content) > DEPLOY_FILE_BYTES.most:
        raise SourceNotReadable(
            f"{path} has more than {DEPLOY_FILE_BYTES.most >> 20} MiB: give files of shorter times."
        )
    return content


def _items(path: Path, content: bytes) -> Iterator[Mapping[str, Any]]:
    begin = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if not begin:
        raise SourceNotReadable(f"{path} is empty.")
    if begin not in (b"{", b"["):
        yield from _rows(path, content)
        return
    if content.count(b"{") + content.count(b"[") > DEPLOY_FILE_BRACKETS.most:
        raise SourceNotReadable(
            f"{path} has more than {DEPLOY_FILE_BRACKETS.most:,} objects and arrays:"
            " give files of shorter times."
        )
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        documents = [orjson.loads(content)]
    except orjson.JSONDecodeError as error:
        documents = _lines(path, content, error)
    for document in documents:
        yield from lists_in(document)


def _lines(path: Path, content: bytes, error: orjson.JSONDecodeError) -> list[object]:
    """A document a line, as exporters of events write them."""
    lines = [line for line in content.split(b"\n") if line.strip()]
    try:
        if len(lines) > 1:
            return [orjson.loads(line) for line in lines]
    except orjson.JSONDecodeError:
        pass
    raise SourceNotReadable(f"{path} is no JSON: {error}.") from error


def _rows(path: Path, content: bytes) -> Iterator[Mapping[str, Any]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceNotReadable(f"{path} is neither JSON nor a CSV in UTF-8.") from error
    csv.field_size_limit(_FIELD_MAX)
    rows = csv.DictReader(StringIO(text, newline=""), restkey="", restval=None, strict=True)
    try:
        names = [name.strip() for name in rows.fieldnames or ()]
        unknown = sorted(set(names) - set(COLUMNS))
        lacks = not set(NEEDED).issubset(names)
        if unknown or lacks:
            needs = f"needs the columns {' and '.join(NEEDED)}"
            what = needs if lacks else f"of deploys has no column {unknown[0][:40]!r}"
            raise SourceNotReadable(
                f"{path} is no file of deploys: it is no JSON, and a CSV {what}. "
                f"Columns: {', '.join(COLUMNS)}."
            )
        rows.fieldnames = names
        for row in rows:
            if row.keys() - set(COLUMNS):
                raise SourceNotReadable(f"{path}, line {rows.line_num}: more values than columns.")
            if not any(map(str.strip, filter(None, row.values()))):
                continue
            wrong = fault_of(row)
            if wrong is not None:
                raise SourceNotReadable(f"{path}, line {rows.line_num}: {wrong}.")
            yield row
    except csv.Error as error:
        raise SourceNotReadable(f"{path}, line {rows.line_num}: {error}.") from error
