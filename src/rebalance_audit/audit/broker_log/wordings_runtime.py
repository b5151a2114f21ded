"""Lines of what the new coordinator runs in: its service, shards, event loop, configuration and assignors."""

from typing import Final

RUNTIME: Final = """
GroupCoordinatorShard
    2.0-    info  GROUP_DELETED: The following groups were deleted: {members}. A total of {size} offsets were
        removed
    3.7-    info  OFFSETS_REMOVED: Generated {size} tombstone records while cleaning up group metadata in {…}
        milliseconds
    3.7-    info  OFFSETS_REMOVED: Generated {size} tombstone records in {…} milliseconds while deleting offsets
        for {text}
    4.3-    info  Generated {size} records in {…} milliseconds while cleaning share group state for topics {…}
    4.1-    error Unable to delete share group{…}
    4.4-    warn  Unexpected error scanning streams group {…} for topology cleanup; skipping
GroupCoordinatorService
    2.0-    info  Starting up
    2.0-    info  Startup complete
    2.0-    info  Shutting down
    2.0-    info  Shutdown complete
    3.6-    warn  Group coordinator is already running
    3.6-    warn  Group coordinator is already shutting down
    3.6-3.7 error Heartbeat request {…} hit an unexpected exception: {…}
    3.6-3.7 error JoinGroup request {…} hit an unexpected exception: {…}
    3.6-3.7 error SyncGroup request {…} hit an unexpected exception: {…}
    3.7     error LeaveGroup request {…} hit an unexpected exception: {…}
    3.7     error DescribeGroups request {…} hit an unexpected exception: {…}
    3.7     error ConsumerGroupDescribe request {…} hit an unexpected exception: {…}
    3.8-    error Operation {…} with {…} hit an unexpected exception: {…}
    3.8-    error Could not delete offsets for deleted {…}
    4.1-    error Error deleting share group {…}
    4.1-    error Failed to delete share group state due to: {…}
    4.1-    error Failed to retrieve {…} share group{…}
    4.1-    error Failed to retrieve {…}
    4.1-    error Failed to read summary of the share partition
    4.1-    error Partition end offset fetch failed for topicPartition {…}
    4.1-    error Received error while {…} share group {…}
    4.1-    error Received error while calling initialize state for {…}
    4.1-    error Result is null for the {…}
    4.1-    warn  Unable to cleanup {…}
    4.1-    error Unable to initialize share group state {…}
    4.4-    error Topology description plugin {…}
CoordinatorRuntime
    3.6-    info  PARTITION_LOADED: Finished loading of metadata from __consumer_offsets-{log_partition} with epoch
        {word}
    3.6-    info  PARTITION_UNLOADED: Scheduling unloading of metadata for __consumer_offsets-{log_partition} with
        epoch {word}
    3.6-    error LOAD_FAILED: Failed to load metadata from __consumer_offsets-{log_partition} with epoch {word}
        due to {text}
    3.8-    error COORDINATOR_RELOADED: The state machine of the coordinator __consumer_offsets-{log_partition} is
        out of sync with the underlying log
    3.8-4.2 error WRITE_FAILED: Writing records to __consumer_offsets-{log_partition} failed due to: {text}
    4.3-    debug WRITE_FAILED: Failed to flush the pending records to __consumer_offsets-{log_partition}: {text}
    4.3-    debug WRITE_FAILED: Failed to write records to __consumer_offsets-{log_partition} because {text}
    4.3-    error WRITE_FAILED: Failed to write records to __consumer_offsets-{log_partition} due to an unexpected
        error: {text}
    4.3-    error WRITE_FAILED: Failed to write a batch of {size} record(s) to __consumer_offsets-{log_partition}
        because {text}
    4.3-    error Failed to write the transaction marker to {…}
    3.8-    error Replaying record{…} to {…} failed due to: {…}
    3.6-    info  Scheduling loading of metadata from {…} with epoch {…}
    3.6-    info  Started unloading metadata for {…} with epoch {…}
    3.6-    info  Finished unloading metadata for {…} with epoch {…}
    3.6-    error Failed to unload {…}
    3.6-    info  Ignored {…} metadata {…}
    3.6-    info  Ignoring {…} metadata {…}
    3.6-    info  Ignoring load completion from {…} because context is in {…} state
    3.8-    info  Ignored load completion from {…} because context is in {…} state
    3.8-    debug Ignored high watermark updated for {…}
    3.6-    info  The coordinator {…} is already {…}
    3.6-    error Cannot load coordinator {…} in state {…}
    3.6-    error Execution of {…} failed due to {…}
    3.6-    debug Executing {…}
    3.6-    debug Scheduled execution of {…}
    3.6-    debug Scheduling applying of a new metadata image with {…}
    3.6-    debug Scheduling write event {…}
    3.6-    debug Applying new metadata image with {…}
    3.6-    debug High watermark of {…}
    3.8-    debug Updating high watermark of {…}
    3.6-    debug Updated {…} offset of {…}
    3.6     debug Update {…} offset of {…}
    3.6-    debug Transition from {…} to {…}
    3.6-    debug Revert last written offset of {…}
    3.6-    debug Registering timer {…}
    3.6-    info  The write event {…} for the {…}
    4.0-    info  The write event for the task {…}
    3.6-    info  Failed to enqueue write event {…} for timer {…}
    3.8-    debug Failed to complete the loading of metadata for {…}
    4.0-    error Completion of event {…} failed due to {…}
    4.0-    warn  Tried to flush an empty batch for {…}
    3.6-    info  Closing coordinator runtime
    3.6-    info  Coordinator runtime {…}
    3.6-    warn  Coordinator loader is {…}
    3.6-    warn  Loaded metadata from {…} with buffer larger {…}
    3.6-    warn  Unknown record type {…} while loading offsets and group metadata from {…}
    4.3-    debug Replaying {…}
    3.6-    info  Draining {…}
    3.6-    debug Event processor {…}
    3.6-    info  Shutting down event processor
    3.6-    info  Shutdown completed
    3.6-    info  Starting
    3.6-    error Exiting with exception
    3.6-    error Failed to {word} event {…} due to: {…}
GroupConfig
    4.3-    warn  The group config {…} for group {…} has value {…}
    4.3-    warn  The effective {…} for group {…} is not greater than {…}
assignors
    3.7     info  The subscription list is empty, returning an empty assignment
    3.7-    warn  Member Id {…} not found
    3.7-    error The member {…} is assigned more partitions than the maximum possible
    3.7-    debug The topic {…} is no longer present in the subscribed topics list
    3.7-    debug Detected that {…}
"""
