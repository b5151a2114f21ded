"""What is to be done with a row of a table: the words of a column beside the table's own."""

from typing import Final

CHANGE: Final = "_change"
INSERT: Final = "insert"
UPDATE: Final = "update"
DELETE: Final = "delete"
