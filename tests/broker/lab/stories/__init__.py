"""The stories, by protocol. `tests.broker.lab.story` has the grammar."""

from typing import Final

from tests.broker.lab.stories.classic import CLASSIC
from tests.broker.lab.stories.consumer import CONSUMER
from tests.broker.lab.stories.expressions import EXPRESSIONS
from tests.broker.lab.stories.migration import MIGRATION
from tests.broker.lab.stories.share import SHARE
from tests.broker.lab.stories.static import STATIC
from tests.broker.lab.stories.streams import STREAMS

STORIES: Final = (*CONSUMER, *STATIC, *EXPRESSIONS, *MIGRATION, *CLASSIC, *SHARE, *STREAMS)
