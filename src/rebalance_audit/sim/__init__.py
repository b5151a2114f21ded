"""A deterministic discrete-event simulator around the group coordinator: logs whose truth is known."""
