"""`anonymise`: a log that can be given away, and a report of what it still shows."""

import json
import shutil
import stat
from pathlib import Path

import pytest

from rebalance_audit.anonymise.disclosure import STILL_VISIBLE
from tests.cli.call import call, segments

LOG = segments("consumer-protocol")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A key that is the user's alone."""
    file = tmp_path / "key"
    file.write_bytes(bytes(range(32)))
    file.chmod(0o600)
    return file


def test_a_log_under_pseudonyms_is_read_like_any_other(key: Path, tmp_path: Path) -> None:
    """By all commands; the report is printed, and lies beside the segments."""
    out = tmp_path / "out"
    done = call("anonymise", LOG, "--key", key, "--out", out)
    assert (done.code, done.err) == (0, "")
    for clause in STILL_VISIBLE:
        assert clause in done.out
    left = json.loads((out / "anonymised.json").read_text())
    assert left["records"] == 1070
    assert str(tmp_path) not in (out / "anonymised.json").read_text()
    shown, original = (
        json.loads(call("inspect", log, "--json").out)["epochs"] for log in (out, LOG)
    )
    assert len(shown) == len(original)
    assert not {row["group_id"] for row in shown} & {row["group_id"] for row in original}


@pytest.mark.parametrize(
    ("has_metadata", "given", "known", "says"),
    [
        (True, (), True, False),
        (False, (), False, True),
        (False, ("--offsets-partitions", "5"), True, False),
    ],
)
def test_an_assumed_number_of_partitions_is_said(
    has_metadata: bool, given: tuple[str, ...], known: bool, says: bool, key: Path, tmp_path: Path
) -> None:
    """Groups of a cluster with another number would be where no broker looks for them."""
    log, out = tmp_path / "log", tmp_path / "out"
    leave = None if has_metadata else shutil.ignore_patterns("__cluster_metadata-0")
    shutil.copytree(LOG, log, ignore=leave)
    done = call("anonymise", log, "--key", key, "--out", out, *given)
    assert done.code == 0
    assert ("50 assumed" in done.out) is says
    left = json.loads((out / "anonymised.json").read_text())
    assert left["offsets_partitions_known"] is known


def test_the_mapping_is_for_the_owner(key: Path, tmp_path: Path) -> None:
    """It reads answers back, is the owner's alone, and never lies in the folder that is given away."""
    out, file = tmp_path / "out", tmp_path / "mine" / "names.json"
    file.parent.mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    around = file.parent / ".." / "out" / "names.json"
    for wrong in (out / "names.json", around, tmp_path / "link" / "out" / "names.json"):
        inside = call("anonymise", LOG, "--key", key, "--out", out, "--mapping", wrong)
        assert inside.code == 2
        assert "must not be inside --out" in inside.err
    over = call("anonymise", LOG, "--key", key, "--out", out, "--mapping", key)
    assert over.code == 2
    assert len(key.read_bytes()) == 32
    file.write_text("an earlier one that others may read")
    assert call("anonymise", LOG, "--key", key, "--out", out, "--mapping", file, "--json").code == 0
    mapping = json.loads(file.read_text())
    groups = {row["group_id"] for row in json.loads(call("inspect", out, "--json").out)["epochs"]}
    assert groups <= set(mapping["groups"].values())
    assert not stat.S_IMODE(file.stat().st_mode) & 0o077


def test_brokers_logs_go_with_it(key: Path, tmp_path: Path) -> None:
    """In a folder of their own, for `--broker-log`."""
    lines = LOG.parent / "server.log.gz"
    out = tmp_path / "out"
    assert call("anonymise", LOG, "--key", key, "--out", out, "--broker-log", lines).code == 0
    shown = call("inspect", out, "--broker-log", out / "broker-logs")
    assert shown.code == 0
    assert "Warning" not in shown.err
    zone = ("--broker-log-time-zone", "Nowhere/There")
    other = tmp_path / "other"
    wrong = call("anonymise", LOG, "--key", key, "--out", other, "--broker-log", lines, *zone)
    assert wrong.code == 2
    assert not other.exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "make one with `head -c 32 /dev/urandom >"),
        (b"secret", "has 6 bytes; a key has 16 to 65536"),
        (b"x" * 70_000, "has more than 65536 bytes"),
        (bytes(32), "repeats a few bytes and can be guessed"),
    ],
)
def test_a_key_that_is_none_is_refused(
    content: bytes | None, sentence: str, tmp_path: Path
) -> None:
    """With the command that makes one."""
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    done = call("anonymise", LOG, "--key", file, "--out", tmp_path / "out")
    assert done.code == 2
    assert sentence in done.err
    assert not (tmp_path / "out").exists()


def test_a_key_that_others_may_read_is_warned_of(key: Path, tmp_path: Path) -> None:
    """Whoever has it can test names."""
    key.chmod(0o644)
    done = call("anonymise", LOG, "--key", key, "--out", tmp_path / "out")
    assert done.code == 0
    assert "other users may read the key" in done.err
