"""Items of exported files, to the reader that knows them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from rebalance_audit.audit.deploys.argo_cd import ArgoCdHistory
from rebalance_audit.audit.deploys.csv_rows import CsvRows
from rebalance_audit.audit.deploys.github_deployments import GitHubDeployments
from rebalance_audit.audit.deploys.helm_history import HelmHistory
from rebalance_audit.audit.deploys.kubernetes_rollouts import KubernetesRollouts
from rebalance_audit.audit.deploys.rollout import Rollout, merged
from rebalance_audit.limits import DEPLOYS


class DeployReader(Protocol):
    """What knows one kind of item."""

    def add(self, item: Mapping[str, Any], file_stem: str, /) -> bool:
        """Whether the item is of its kind; it is kept then, as far as it has what is needed."""
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


class DeployFile(NamedTuple):
    """What a file held."""

    file: str
    items: Mapping[str, int]
    """Kind of item -> how many."""

    @property
    def is_useless(self) -> bool:
        """Whether no item is of a known kind."""
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

    def read(self, file: str, file_stem: str, items: Iterable[Mapping[str, Any]]) -> None:
        """Take the items of a file."""
        counts: Counter[str] = Counter()
        for item in items:
            counts[self._kind_of(item, file_stem)] += 1
        self.files.append(DeployFile(file, dict(counts)))

    def _kind_of(self, item: Mapping[str, Any], file_stem: str) -> str:
        for name, reader in self._readers.items():
            if reader.add(item, file_stem):
                return name
        return NOT_KNOWN

    def found(self) -> DeploysRead:
        """The rollouts, at most the latest `limits.DEPLOYS`."""
        every = merged(deploy for reader in self._readers.values() for deploy in reader.deploys())
        kept = every[-DEPLOYS.most :]
        return DeploysRead(kept, self.files, len(every) - len(kept))
