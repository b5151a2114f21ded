import subprocess
import sys
from pathlib import Path

import pytest

from rebalance_audit.resources import checkout_root, list_files, read_text

REPORT = """
import sys
sys.path.insert(0, sys.argv[1])
import rebalance_audit
from rebalance_audit.resources import list_files, read_text
from rebalance_audit.tables.schemas import table_schemas
from rebalance_audit.tables.views import views
assert rebalance_audit.__file__.startswith(sys.argv[1]), rebalance_audit.__file__
print(len(table_schemas()), len(read_text("conf/base.toml")), len(list_files("schemas/records", ".json")), len(views()))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built by its own build backend."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=checkout_root(), check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.mark.parametrize("unpacked", [True, False], ids=["unpacked", "as a zip"])
def test_the_wheel_brings_its_data(unpacked: bool, wheel: Path, tmp_path: Path) -> None:
    """Schemas and defaults are found in an installed wheel and in a zip on the path, far from any checkout."""
    place = tmp_path / "rebalance_audit.zip"
    if unpacked:
        subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, place], check=True)
    else:
        place.write_bytes(wheel.read_bytes())
    counted = subprocess.run(
        [sys.executable, "-c", REPORT, str(place)],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    tables = len(list_files("schemas/tables", ".json"))
    records = len(list_files("schemas/records", ".json"))
    queries = len(list_files("schemas/views", ".sql"))
    expected = [tables, len(read_text("conf/base.toml")), records, queries]
    assert counted.stdout.split() == [str(count) for count in expected]


def test_a_missing_data_file_is_reported_by_its_path() -> None:
    """A path that is no data file is an error that names it."""
    with pytest.raises(FileNotFoundError, match=r"schemas/nothing\.json is not among"):
        read_text("schemas/nothing.json")
