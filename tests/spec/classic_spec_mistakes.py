"""Mistakes for `spec/classic.qnt`."""

from typing import Final

from tests.spec.spec_mistakes import Mistake

CLASSIC_SEEN_BY_PROPERTIES: Final = (
    Mistake(
        "a leader that goes leads on",
        "leader: if (gone.contains(g.leader)) first(members.keys()) else g.leader }",
        "leader: g.leader }",
    ),
    Mistake(
        "who waits for its assignment waits on",
        "{ ...g.members.get(id), syncing: false, assignment: Set() }",
        "{ ...g.members.get(id), assignment: Set() }",
    ),
    Mistake(
        "a static return is a rebalance",
        'if (g.phase == "STABLE") { group: recording(moved), answers: Map(r.fresh -> joinAnswer(moved)) }\n'
        '      else if (g.phase == "COMPLETING") rebalance(moved)',
        'if (g.phase == "STABLE" or g.phase == "COMPLETING") rebalance(moved)',
    ),
    Mistake("a static return is not recorded", "{ group: recording(moved), ", "{ group: moved, "),
    Mistake(
        "who has joined is still waited on in the sync phase",
        "{ ...left.members.get(id), joined: false, syncing: false, owes: true, isNew: false }",
        "{ ...left.members.get(id), syncing: false, owes: true, isNew: false }",
    ),
    Mistake(
        "an assignment is not recorded",
        "{ group: recording(done), ",
        "{ group: done, ",
    ),
    Mistake(
        "a fail-over forgets the generation",
        "recorded: g.recorded, generation: g.recorded.generation,",
        "recorded: g.recorded, generation: 0,",
    ),
    Mistake(
        "commits of older generations are taken",
        '    else if (generation != g.generation) "ILLEGAL_GENERATION"\n'
        '    else if (g.phase == "COMPLETING") "REBALANCE_IN_PROGRESS"\n'
        '    else ""\n',
        '    else if (generation < g.generation - 1) "ILLEGAL_GENERATION"\n'
        '    else if (g.phase == "COMPLETING") "REBALANCE_IN_PROGRESS"\n'
        '    else ""\n',
    ),
)
"""Each is seen by a property of classic.qnt."""

CLASSIC_SEEN_BY_CAPTURES: Final = (
    Mistake(
        "a generation is not counted",
        'phase: "COMPLETING", initial: false, generation: g.generation + 1,',
        'phase: "COMPLETING", initial: false, generation: g.generation,',
    ),
    Mistake(
        "a static return is a generation",
        "{ group: recording(moved), ",
        "{ group: recording({ ...moved, generation: g.generation + 1 }), ",
    ),
    Mistake(
        "an empty group has the generation that it had",
        'phase: "EMPTY", initial: false, generation: g.generation + 1,',
        'phase: "EMPTY", initial: false, generation: g.generation,',
    ),
    Mistake(
        "a static member that returns has no change",
        "{ ...m, metadata: r.metadata, joined",
        "{ ...m, joined",
    ),
)
"""Logs of real brokers contradict these."""

CLASSIC_SEEN_SOON: Final = frozenset(
    {
        "a leader that goes leads on",
        "a static return is a rebalance",
        "commits of older generations are taken",
    }
)
"""Those of `CLASSIC_SEEN_BY_PROPERTIES` that a few runs suffice for."""
