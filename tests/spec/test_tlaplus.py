"""The specifications in TLA+: a second engine, which has nothing of Quint, sees the same states and breaks nothing."""

import os
from pathlib import Path
from typing import Final

import pytest

from rebalance_audit.resources import checkout_root
from tests.spec import tlc
from tests.spec.spec_mistakes import SEEN_BY_PROPERTIES, SEEN_SOON, Mistake
from workshop.tlaplus.modules import CONFIGURATION, FOLDER, MODULES, Module, tlaplus_of

pytestmark = pytest.mark.spec

IS_FULL: Final = bool(os.environ.get("SPEC_FULL"))
SMALL: Final = MODULES[0]
LOOKED_AT: Final = MODULES if IS_FULL else (SMALL,)
STATES_BY_QUINT: Final = (13_957, 1_190, 0, 7)
"""What `spec/engine.js` says of consumerSmall: transitions, states, none left, steps to the furthest state."""
ELSEWHERE: Final = {"grown topics go unnoticed", "who is no member may commit"}
"""In the small module nothing grows, and no client outlives its membership."""
SEEN: Final = [each for each in SEEN_BY_PROPERTIES if each.name not in ELSEWHERE]
MISTAKES: Final = SEEN if IS_FULL else [each for each in SEEN if each.name in SEEN_SOON][:1]


@pytest.mark.parametrize("module", LOOKED_AT, ids=lambda each: each.name)
def test_the_files_are_what_the_specifications_say(module: Module) -> None:
    """`python -m workshop.tlaplus --write` makes them."""
    written = (checkout_root() / FOLDER / f"{module.name}.tla").read_text(encoding="utf-8")
    assert written == tlaplus_of(module)
    configured = (checkout_root() / FOLDER / f"{module.name}.cfg").read_text(encoding="utf-8")
    assert configured == CONFIGURATION


@pytest.mark.parametrize("module", LOOKED_AT, ids=lambda each: each.name)
def test_properties_hold_in_every_state(module: Module, tmp_path: Path) -> None:
    """All states within the module's bounds, however far from the first."""
    found = tlc.explore(module.name, tmp_path)
    assert not found.broken
    assert found.left == 0
    if module == SMALL:
        assert found[:4] == STATES_BY_QUINT


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each.name)
def test_a_mistake_in_the_specification_breaks_a_property(mistake: Mistake, tmp_path: Path) -> None:
    """The properties are translated, too."""
    text = (checkout_root() / "spec" / SMALL.file).read_text(encoding="utf-8")
    mistaken = tlaplus_of(SMALL, text.replace(mistake.text, mistake.by))
    assert tlc.explore(SMALL.name, tmp_path, mistaken).broken
