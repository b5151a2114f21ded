"""Items of exported files, to the reader that knows them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from rebalance_audit.audit.deploys.histories import (
    ArgoCdHistory,
    CsvRows,
    GitHubDeployments,
    HelmHistory,
)
from rebalance_audit.audit.deploys.kubernetes_rollouts import KubernetesRollouts
from rebalance_audit.audit.deploys.rollout import Rollout, merged
from rebalance_audit.audit.deploys.values import ItemError
from rebalance_audit.carriers.json_documents import Around, Document, take_objects
from rebalance_audit.limits import DEPLOY_FILE_BRACKETS, DEPLOY_ITEMS, DEPLOYS


class DeployReader(Protocol):
    """What knows one kind of item."""

    def add(self, item: Mapping[str, Any], file_stem: str, around: Around, /) -> bool:
        """Whether the item, carried by `around`, is of its kind; it is kept then.

        Raises ItemError if it lacks what is needed.
        """
        ...

    def deploys(self) -> Iterator[Rollout]:
        """What the items show."""
        ...


NOT_KNOWN: Final = "nothing known"

KINDS: Final[Mapping[str, Callable[[], DeployReader]]] = {
    "Kubernetes": KubernetesRollouts,
    "Argo CD": ArgoCdHistory,
    "Helm": HelmHistory,
    "GitHub": GitHubDeployments,
    "CSV": CsvRows,
}
"""Name for people -> reader; the first that takes an item keeps it."""


@dataclass(slots=True)
class DeployFile:
    """What a file held."""

    file: str
    items: Counter[str] = field(default_factory=Counter)
    """Kind of item -> how many, of those that are kept."""
    dropped: int = 0
    """Items of a known kind that lack what is needed."""
    why_dropped: str = ""
    """What the first of them lacks, and its line: a clause."""
    unread: int = 0
    """Lines of text that are no part of JSON."""
    first_unread: int = 0
    """The first of them."""
    looked_at: int = 0
    """Objects in which an item was looked for."""

    @property
    def is_useless(self) -> bool:
        """Whether no item of a known kind was kept."""
        return not self.items.keys() - {NOT_KNOWN}


class DeploysRead(NamedTuple):
    """What files of rollouts hold."""

    deploys: Sequence[Rollout] = ()
    """In order of their starts."""
    files: Sequence[DeployFile] = ()
    left_out: int = 0
    """Rollouts beyond the limit."""


class DeployCollector:
    """Collects what files show; facts of one rollout may be in several of them."""

    def __init__(self) -> None:
        self._readers: dict[str, DeployReader] = {name: make() for name, make in KINDS.items()}
        self.files: list[DeployFile] = []
        self._items = 0

    def read(self, file: str, file_stem: str, documents: Iterable[Document]) -> DeployFile:
        """Take the items of a file."""
        found = DeployFile(file)
        self.files.append(found)
        for line, value in documents:
            take = partial(self._take, file_stem, found, line)
            found.items[NOT_KNOWN] += take_objects(value, take).unknown
        found.items += Counter()
        return found

    def _take(
        self,
        file_stem: str,
        of_file: DeployFile,
        line: int,
        item: Mapping[str, Any],
        around: Around,
    ) -> bool:
        of_file.looked_at += 1
        if of_file.looked_at > DEPLOY_FILE_BRACKETS.most:
            raise ValueError(
                f"more than {DEPLOY_FILE_BRACKETS.most:,} objects: give files of shorter times"
            )
        for name, reader in self._readers.items():
            try:
                if not reader.add(item, file_stem, around):
                    continue
            except ItemError as error:
                of_file.dropped += 1
                of_file.why_dropped = of_file.why_dropped or f"line {line}: {error}"
                self._count()
                return True
            of_file.items[name] += 1
            self._count()
            return True
        return False

    def _count(self) -> None:
        self._items += 1
        if self._items > DEPLOY_ITEMS.most:
            raise ValueError(
                f"more than {DEPLOY_ITEMS.most:,} items in all files: give files of shorter times"
            )

    def found(self) -> DeploysRead:
        """The rollouts, at most the latest `limits.DEPLOYS`."""
        every = merged(deploy for reader in self._readers.values() for deploy in reader.deploys())
        kept = every[-DEPLOYS.most :]
        return DeploysRead(kept, self.files, len(every) - len(kept))
