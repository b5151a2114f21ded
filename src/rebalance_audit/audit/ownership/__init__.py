"""Which member owned which partition when, and the offset commits that confirm it."""
