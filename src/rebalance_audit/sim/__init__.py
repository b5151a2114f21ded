"""A deterministic discrete-event simulator around the group coordinator: it makes logs whose truth is known."""
