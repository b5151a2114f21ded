"""Whether Kafka's group coordinator would load a partition of `__consumer_offsets`, and what is lost if not.

| name | what |
|---|---|
| `coordinators.Coordinator` | `(release, kind)`: "3.3" to "4.4", "classic" or "new" |
| `coordinators.COORDINATORS`, `DEFAULT` | all of them, oldest first, classic before new; the newest new one |
| `coordinators.coordinator_named` | of "4.3", "3.9", "3.9 new": the classic one where a release has both |
| `partition_load.load_partition` | `(items, coordinator, log_partition) -> Loading` |
| `loading.Loading` | what the coordinator does, see there |
| `partition_load.verify_folder` | `(folder, coordinator, log_partitions=None) -> Verification`: a folder of segments |
| `coordinators.rules_for` | the rules for a coordinator, from `schemas/loading`, each with its source in Kafka |

`items` are what `wire.segments.columns.read_columns` yields. A release stands for the newest patch of its line; a patch
such as "4.0.1" is there where it loads differently. `Loading` has `outcome` "loads", "fails" or "unknown",
`failed_at_offset`, `failure` (with `rule_id`), `skipped`, `tolerated`, `lost_groups`, `open_transactions`, `damage`.

A new coordinator that fails leaves the partition failed: no group of it is served. A classic one that fails logs the
error and serves the partition without any of its groups, so that consumers start from `auto.offset.reset`.

Records are replayed by `replay`, leniently; the rules here say which of them a release refuses.
"""
