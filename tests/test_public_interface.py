"""What `import rebalance_audit` offers, and what it costs."""

import subprocess
import sys

import pytest

import rebalance_audit as ra
from tests.cli.call import segments

HEAVY = ("pyspark", "delta", "deltalake", "pandas", "pyarrow", "pydantic", "click", "rich")


def loaded_after(code: str) -> str:
    """The heavy modules that a fresh interpreter has loaded after the code, and our own if there is none."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{code}\nimport sys\nprint([m for m in {HEAVY} if m in sys.modules])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_importing_the_package_loads_nothing_of_it() -> None:
    """Each name is loaded when it is first used."""
    code = "import rebalance_audit, sys\nassert 'rebalance_audit.wire' not in sys.modules"
    assert loaded_after(code) == "[]"


def test_an_audit_needs_no_package_of_an_extra() -> None:
    """Neither do its rows, nor the lake's reader before it is asked; the command line's packages stay out, too."""
    code = f"""
import rebalance_audit as ra
audit = ra.audit_segments({str(segments("failover"))!r})
audit.epochs[0], audit.epochs._repr_html_(), audit.state()
ra.open_lake
next(ra.decode_segments({str(segments("failover"))!r}))
"""
    assert loaded_after(code) == "[]"


def test_every_public_name_is_there() -> None:
    """A star import gets all of them; a name that is none is an AttributeError, as of any module."""
    everything: dict[str, object] = {}
    exec("from rebalance_audit import *", everything)  # noqa: S102 - the import to try
    assert set(ra.__all__) <= set(everything)
    assert set(ra.__all__) <= set(dir(ra))
    with pytest.raises(AttributeError, match="no attribute 'audit_lake'"):
        _ = ra.audit_lake
