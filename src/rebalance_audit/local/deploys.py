"""Files of rollouts: JSON as tools export it, shippers carry it and stores keep it, or the CSV of `csv_rows`."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Final

from rebalance_audit.audit.deploys.csv_rows import COLUMNS, NEEDED, fault_of
from rebalance_audit.audit.deploys.read import DeployCollector, DeploysRead
from rebalance_audit.carriers.archives import Content, contents_of, readable
from rebalance_audit.carriers.json_documents import Document, JsonDocuments
from rebalance_audit.carriers.text import text_blocks
from rebalance_audit.limits import DEPLOY_FILE_BRACKETS, DEPLOY_FILE_BYTES, DEPLOY_FILE_MARKS
from rebalance_audit.wire.segments.folder import SourceNotReadable

_FIELD_MAX: Final = 64 << 10


def read_deploys(paths: Iterable[Path]) -> DeploysRead:
    """The rollouts of all files. Raises SourceNotReadable that names the file, and its line in a CSV."""
    collector = DeployCollector()
    for path in paths:
        for content in contents_of(path):
            with readable(path):
                _read(collector, content)
    return collector.found()


def _read(collector: DeployCollector, content: Content) -> None:
    data = b"".join(text_blocks(_limited(content)))
    if not data.strip():
        raise SourceNotReadable(f"{content.name} is empty.")
    stem = Path(content.name.rpartition("!")[2]).name.removesuffix(".gz")
    stem = stem.rpartition(".")[0] or stem
    first_line = data[:_FIELD_MAX].split(b"\n", 1)[0].decode("utf-8", "replace")
    header = {name.strip() for name in first_line.split(",")}
    if data.count(b",") + data.count(b":") > DEPLOY_FILE_MARKS.most:
        raise SourceNotReadable(
            f"{content.name} has more than {DEPLOY_FILE_MARKS.most:,} commas and colons:"
            " give files of shorter times."
        )
    is_json = b"{" in data or data.lstrip().startswith(b"[")
    if not is_json or header >= set(NEEDED):
        rows = (Document(line, row) for line, row in _rows(content.name, data))
        collector.read(content.name, stem, rows)
        return
    # In a JSON text in another one a bracket may be written as a number.
    if sum(map(data.count, (b"{", b"[", b"\\u00"))) > DEPLOY_FILE_BRACKETS.most:
        raise SourceNotReadable(
            f"{content.name} has more than {DEPLOY_FILE_BRACKETS.most:,} objects and arrays:"
            " give files of shorter times."
        )
    documents = JsonDocuments(BytesIO(data), DEPLOY_FILE_BYTES.most)
    found = collector.read(content.name, stem, documents)
    found.unread, found.first_unread = documents.unread, documents.first_unread
    if found.unread and not found.items and not found.dropped:
        raise SourceNotReadable(
            f"{content.name} is no JSON: line {found.first_unread} begins no object that ends."
        )


def _limited(content: Content) -> BytesIO:
    data = content.file.read(DEPLOY_FILE_BYTES.most + 1)
    if len(data) > DEPLOY_FILE_BYTES.most:
        raise SourceNotReadable(
            f"{content.name} has more than {DEPLOY_FILE_BYTES.most >> 20} MiB: give files of shorter times."
        )
    return BytesIO(data)


def _rows(path: str, content: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        text = content.decode()
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
            yield rows.line_num, row
    except csv.Error as error:
        raise SourceNotReadable(f"{path}, line {rows.line_num}: {error}.") from error
