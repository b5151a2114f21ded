"""Which modules of the specifications are translated, and how TLC checks them."""

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, NamedTuple

from rebalance_audit.resources import checkout_root
from workshop.tlaplus.translation import translated

FOLDER: Final = "spec/tla"


class Module(NamedTuple):
    """A module of Quint with bounds for its constants."""

    name: str
    file: str
    step: str
    view: tuple[str, ...]
    """Variables that make two states different ones; the others describe the last step."""


_OF_CONSUMER: Final = ("release", "image", "group", "clients")
_OF_CLASSIC: Final = ("group", "clients")
MODULES: Final = (
    Module("consumerSmall", "consumer.qnt", "everyStep", _OF_CONSUMER),
    Module("consumerTwo", "consumer.qnt", "everyStep", _OF_CONSUMER),
    Module("consumerStatic", "consumer.qnt", "everyStep", _OF_CONSUMER),
    Module("classicPair", "classic.qnt", "step", _OF_CLASSIC),
    Module("classicTwins", "classic.qnt", "step", _OF_CLASSIC),
)

CONFIGURATION: Final = """\
\\* What TLC does with the module of this name.
SPECIFICATION Spec
VIEW View
INVARIANT q_inv
CHECK_DEADLOCK FALSE
"""


def tlaplus_of(module: Module, text: str | None = None) -> str:
    """The module in TLA+; `text` takes the place of the specification's file. Needs Node.js and the packages of spec/.

    Raises CalledProcessError where Quint refuses the specification, and UntranslatableError.
    """
    folder = checkout_root() / "spec"
    file = folder / module.file
    if text is not None:
        file = folder / f".{module.name}-{abs(hash(text))}.qnt"
        file.write_text(text, encoding="utf-8")
    try:
        return translated(_compiled(module, folder, file), module.name, module.view)
    finally:
        if text is not None:
            file.unlink()


def _compiled(module: Module, folder: Path, file: Path) -> dict[str, Any]:
    """The flattened module as Quint's own tool writes it, with what the step and the properties need."""
    command = ["node_modules/.bin/quint", "compile", "--target", "json", "--main", module.name]
    command += ["--init", "init", "--step", module.step, "--invariant", "safe and converges"]
    # Into a file: Quint ends before a pipe has taken everything.
    with TemporaryFile() as output:
        subprocess.run([*command, str(file)], cwd=folder, stdout=output, check=True)
        output.seek(0)
        flattened: dict[str, Any] = json.load(output)["modules"][-1]
    return flattened


def due() -> dict[Path, str]:
    """The files of spec/tla."""
    folder = checkout_root() / FOLDER
    modules = {folder / f"{module.name}.tla": tlaplus_of(module) for module in MODULES}
    return modules | {path.with_suffix(".cfg"): CONFIGURATION for path in modules}
