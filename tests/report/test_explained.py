"""`audit.explain()` answers in the words of the command, as text, HTML, and from a lake."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

import rebalance_audit as ra
from tests.cli.audited import audited_once
from tests.cli.call import call, segments
from tests.support.lake_without_spark import empty_gold, write_lake

LOG = segments("consumer-protocol")


class Texts(HTMLParser):
    """Texts of the elements in their order; elements that were opened."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - of the base class
        """An element is opened."""
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        """Text of an element."""
        self.texts.append(data)


def test_the_answer_is_that_of_the_command() -> None:
    """Sentence by sentence, as text and as HTML."""
    found = audited_once(LOG).explain("stuck")
    said = "".join(call("explain", LOG, "stuck").out.split())
    for section in found.sections:
        for sentence in section.sentences:
            assert "".join(sentence.split()) in said
            assert sentence in str(found)
    in_html = Texts(found._repr_html_())
    assert in_html.texts[0] == found.heading
    assert "stuck-0 at 127.0.0.1 held it up for 6.0 s" in in_html.texts[1]
    assert in_html.tags == {"p", "strong", "h4", "ul", "li"}


def test_a_lake_answers_the_same(tmp_path: Path) -> None:
    """About the group and about an epoch; only the end of the log is not known where no run noted it."""
    audit = audited_once(LOG)
    write_lake(tmp_path, {**empty_gold(), **audit.tables}, "blue")
    lake = ra.open_lake(tmp_path)
    for epoch in (None, 4):
        found, expected = lake.explain("stuck", epoch=epoch), audit.explain("stuck", epoch=epoch)
        assert found.sections == expected.sections
        assert expected.heading.startswith(found.heading)


def test_names_are_text(tmp_path: Path) -> None:
    """A group may be named like an element of HTML."""
    audit = audited_once(segments("oddities"))
    for group_id in sorted({row["group_id"] for row in audit.tables["epochs"]}):
        assert Texts(audit.explain(group_id)._repr_html_()).tags <= {
            "p",
            "strong",
            "h4",
            "ul",
            "li",
        }


@pytest.mark.parametrize(
    ("group_id", "wanted", "message"),
    [
        ("stuck", {"epoch": 99}, "no epoch 99; this group has"),
        ("stuck", {"epoch": 4, "at": "-1d"}, "Give epoch or at, not both."),
        ("stuck", {"at": "2030-01-01T00:00Z"}, "The log ends at 2026-11-21 .* UTC, before 2030"),
        ("stuck", {"at": "2020-01-01T00:00Z"}, "first epoch of this group began at"),
    ],
)
def test_what_the_log_does_not_have(group_id: str, wanted: dict[str, int], message: str) -> None:
    """The error says what there is."""
    with pytest.raises(ra.BadRequest, match=message):
        audited_once(LOG).explain(group_id, **wanted)
    with pytest.raises(ra.UnknownGroup, match="did you mean 'stuck'"):
        audited_once(LOG).explain("stuk")
