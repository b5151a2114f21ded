"""Hard state: what records say about groups. Records in, state and changes out, and nothing else changes a group.

| where | what |
|---|---|
| `playback` | `apply`: the one way in, and `RULES`, record type to rule (Kafka: `CoordinatorPlayback.replay`) |
| `shard` | the groups of one partition (Kafka: `GroupCoordinatorShard`) |
| `groups` | state of a group of each type, and one group id with its committed offsets |
| `classic` | groups whose leader assigns; each record is the snapshot of a generation |
| `modern/` | consumer, share and streams groups; each record is a difference |
| `offsets` | offset commits and transaction markers (Kafka: the replay half of `OffsetMetadataManager`) |
| `changes` | what a record did, as values: the alphabet that `audit` reads |
| `step` | strict or lenient: what happens to a record that the rules exclude |
| `describe` | a group as Kafka's describe commands show it |
| `partitions`, `java_order` | sets of partitions; the iteration order of Java's maps, which breaks ties |

Production needs no more than this. Records are decoded in `wire` and made in `coordinator`, where soft state is.
"""
