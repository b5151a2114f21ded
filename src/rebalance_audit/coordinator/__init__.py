"""What makes records: handlers, requests, assignors and soft state (timers, parked requests, sessions).

| where | what |
|---|---|
| `group_coordinator` | one partition: request or timer in, `Result` out (Kafka: `GroupCoordinatorShard`) |
| `handling` | what handlers take and return: records to write, replies, timers to arm, releases (`Dialect`) |
| `reasons` | why an epoch was bumped, recorded where it is decided: the simulator's truth, in no record |
| `classic/` | JoinGroup, SyncGroup, Heartbeat, LeaveGroup |
| `consumer/` | the consumer protocol (KIP-848), migration of groups between the protocols included |
| `offset_commits`, `offset_reads`, `offset_removal` | offsets and transactions; how groups are deleted or expire |
| `assignors/` | the broker's assignors and those of classic clients |
| `requests/` | requests and responses as values |

A handler reads a group and returns records; `replay` applies them, and nothing else changes the group. Only the
simulator needs this package: production replays what real coordinators wrote.
"""
