"""Bytes to records and back: what `__consumer_offsets` holds on disk and on the wire.

| where | what |
|---|---|
| `segments/` | log segments: the folder, batches, compression, damage (Kafka: clients' `common.record`) |
| `records` | `decode_record`, `encode_key`, `encode_value`: one key and value (Kafka: `GroupCoordinatorRecordSerde`) |
| `schema`, `generic` | `schemas/records` as values, and the codec that walks them: it defines what bytes mean |
| `generated/` | classes that `workshop/codegen` writes from the same schemas |
| `decoders`, `decoder_runtime` | the fast way: a decoder made from a schema at first use |
| `consumer_protocol` | subscriptions and assignments inside classic groups' records (Kafka: `ConsumerProtocol`) |
| `connect_protocol`, `registry_protocol`, `streams_protocol` | the same for Connect, registries, Streams |
| `embedded` | how all of these read what a client sent, as far as it goes |
| `json_shape` | records as `kafka-dump-log` prints them |
| `key_bytes` | type and group id of a key without decoding it |
| `topic_names` | topic id to name and shape, from `__cluster_metadata` |

Nothing here knows what a record does to a group: that is `replay`.
"""
