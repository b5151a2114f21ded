"""A story of the lab: what is done to one group, step by step, and which epochs that begins and why.

One step a line, what it begins after `->`. Nothing else happens to the group meanwhile, so the reason is known:

    topic @a 2
    A join topics=@a          -> group_created+member_joined
    B join topics=@a          -> member_joined
    A beat rack=r             -> nothing
    B beat assignor=range     -> nothing / 4.4 assignor_changed

- `@` is the group's name and a dash, so that no two groups share a topic. Capital letters are members.
- `a+b`: one epoch for which both may be named, the first of them must be; `a, b`: two epochs, one after the other.
- `/ 4.4 …`: what the step begins from that release on. A step without an arrow begins nothing.
- `!117` in a step: the broker refuses it with this error code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final, NamedTuple, TypeAlias

RELEASES: Final = ("4.0", "4.1", "4.2", "4.3", "4.4")
NOTHING: Final = "nothing"

Epochs: TypeAlias = tuple[tuple[str, ...], ...]
"""The epochs that a step begins; of each, the causes that may be named."""


class Step(NamedTuple):
    """One line."""

    text: str
    actor: str
    """The member, or nothing."""
    verb: str
    arguments: tuple[str, ...]
    options: Mapping[str, str]
    refusal: int
    """The error code that the broker answers with; 0 = none."""
    begins: Mapping[str, Epochs]
    """Release -> what the step begins from it on."""

    def begun(self, release: str) -> Epochs:
        """What the step begins in a release."""
        since = [each for each in self.begins if not is_later(each, release)]
        return self.begins[since[-1]] if since else ()


@dataclass(frozen=True)
class Story:
    """One group's steps."""

    group_id: str
    text: str = field(repr=False)
    since: str = RELEASES[0]
    """The first release that can play it."""

    @property
    def protocol(self) -> str:
        """`consumer`, `classic`, `share`, `streams`: the first word of the group's name."""
        return self.group_id.split("-", 1)[0]

    def steps(self) -> Sequence[Step]:
        """The lines of the text."""
        lines = [line.strip() for line in self.text.splitlines()]
        return [_step(line.replace("@", f"{self.group_id}-")) for line in lines if line]

    def topics(self) -> Mapping[str, int]:
        """Topics that the first lines create, and how many partitions they have."""
        creating = takewhile(lambda step: step.verb == "topic", self.steps())
        return {step.arguments[0]: int(step.arguments[1]) for step in creating}


def is_later(release: str, than: str) -> bool:
    """Whether a release comes after another."""
    return RELEASES.index(release) > RELEASES.index(than)


def _step(line: str) -> Step:
    done, _, begins = line.partition("->")
    words = done.split()
    actor = words.pop(0) if words[0][0].isupper() else ""
    verb = words.pop(0)
    options = dict(word.split("=", 1) for word in words if "=" in word)
    arguments = tuple(word for word in words if "=" not in word and word[0] != "!")
    refusal = next((int(word[1:]) for word in words if word[0] == "!"), 0)
    text = " ".join(done.split())
    return Step(text, actor, verb, arguments, options, refusal, _begins(begins))


def _begins(text: str) -> dict[str, Epochs]:
    found: dict[str, Epochs] = {}
    for part in text.split(" / ") if text.strip() else ():
        words = part.split(None, 1)
        since = words.pop(0) if words[0] in RELEASES else RELEASES[0]
        (causes,) = words
        found[since] = (
            ()
            if causes.strip() == NOTHING
            else tuple(tuple(each.strip().split("+")) for each in causes.split(","))
        )
    return found
