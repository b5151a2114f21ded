"""docs/protocol-map.md names code and tests that exist."""

import re

from rebalance_audit.resources import checkout_root

ROOT = checkout_root()
TEXT = (ROOT / "docs" / "protocol-map.md").read_text(encoding="utf-8")
QUOTED = frozenset(re.findall(r"`([^`\n]+)`", TEXT))


def test_the_files_exist() -> None:
    """Every path is the end of a source or test file's path."""
    named = {quoted for quoted in QUOTED if re.fullmatch(r"[\w/]+\.py", quoted)}
    assert len(named) > 20
    files = [
        "/" + path.as_posix() for top in ("src", "tests") for path in (ROOT / top).rglob("*.py")
    ]
    assert (
        sorted(name for name in named if not any(file.endswith("/" + name) for file in files)) == []
    )


def test_the_tests_exist() -> None:
    """Every test is a function of a test file."""
    named = {quoted for quoted in QUOTED if re.fullmatch(r"test_\w+", quoted)}
    assert len(named) > 50
    defined = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        defined.update(
            re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        )
    assert sorted(named - defined) == []
