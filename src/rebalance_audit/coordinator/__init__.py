"""The group coordinator as an event-sourced state machine: records in, state and changes out."""
