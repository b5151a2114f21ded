"""A shorthand for coordinator records, the writes that carry them, and the groups that they lead to.

A line is a record: the number of its type, the fields of its key, then its value. `;` parts lines. The group is `g`.

    2 1 range A=0-2 B@i1=3-5     generation 1 of a classic group: protocol, members with instance ids and assignments
                                 (lead= state_at= type= topics= topics:A= owned:A=0-2 session= timeout=); `2 0` is empty
    3 2 h7                       group epoch 2, metadata hash 7 (17 also: valid=1, the validated topology
                                 epoch; standby=0, the setting that 4.2 writes)
    4 foo:6 bar:3                recorded topics and their partition counts
    5 A topics=foo,bar           member A (instance= regex= rack= assignor= timeout= client= host= process=;
                                 classic=range or session=6000 makes it one with the classic protocol)
    6 2 t=2000                   target metadata: epoch and time
    7 A 0-2+bar:0                target of A; a topic that is not named is foo, `-` is nothing
    8 A 2/1 UNREVOKED 0-2|3-5    A at epoch 2, before at 1, assigned and to be revoked; without a state it is STABLE.
                                 `0-2@4` is assignment epoch 4, `0-2@-` none, as releases before 4.3 write
    15 foo                       initialised topics
    16 ^f foo,bar                a regular expression and its topics (v=)
    23 1                         topology epoch; `24 1` is the epoch of resolved topics
    1 foo:0 42 m=text            committed offset 42 (le= at= expires= id=foo); type 0 is its oldest form
    5t A                         a tombstone: `t` after the type, then the key

Share groups (10 to 14) and streams groups (17 to 22) are written like the consumer group's record of the same role.
`layout=3.7` makes any record an early-access one. Times that are not given follow from the time of the write.

    records("3 1; 6 1")                               records
    log((1000, "5 A; 3 1"), (1400, "7 A 0-5; 6 1"))   writes and their times: (record, position) pairs
    replayed("5 A; 3 1; 7 A 0-5; 6 1")                the group that the records lead to; `replay` goes on with it
    picture(group)                                    that group in one line: "Consumer Reconciling 1/1 | A ..."
"""

from tests.dsl.groups import anomalies, assert_derived_values_hold, picture, replay, replayed
from tests.dsl.partitions import TOPIC_IDS, TOPIC_NAMES
from tests.dsl.records import GROUP_ID, record_of, records
from tests.dsl.writes import Log, log

__all__ = [
    "GROUP_ID",
    "TOPIC_IDS",
    "TOPIC_NAMES",
    "Log",
    "anomalies",
    "assert_derived_values_hold",
    "log",
    "picture",
    "record_of",
    "records",
    "replay",
    "replayed",
]
