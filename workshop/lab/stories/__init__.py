"""The stories, by protocol. `workshop.lab.story` has the grammar."""

from typing import Final

from workshop.lab.stories.classic import CLASSIC
from workshop.lab.stories.consumer import CONSUMER
from workshop.lab.stories.expressions import EXPRESSIONS
from workshop.lab.stories.migration import MIGRATION
from workshop.lab.stories.share import SHARE
from workshop.lab.stories.static import STATIC
from workshop.lab.stories.streams import STREAMS

STORIES: Final = (*CONSUMER, *STATIC, *EXPRESSIONS, *MIGRATION, *CLASSIC, *SHARE, *STREAMS)
