"""What a group's own history would have been under another protocol, assignor, membership or timeout."""
