"""All cases whose truth is kept: one log of one partition each, with one fault or none."""

from typing import Final

from workshop.lab_load.cases.batches import BATCH_CASES
from workshop.lab_load.cases.case import CaseSet
from workshop.lab_load.cases.controls import CONTROLS
from workshop.lab_load.cases.keys import KEY_CASES
from workshop.lab_load.cases.sequences import FOUND_CASES, SEQUENCE_CASES
from workshop.lab_load.cases.values import VALUE_CASES

CASES: Final = CaseSet(
    (
        *CONTROLS,
        *SEQUENCE_CASES,
        *VALUE_CASES,
        *KEY_CASES,
        *BATCH_CASES,
        *FOUND_CASES,
    )
)
