"""A log of `__consumer_offsets` with pseudonyms in place of names, to be given away; see docs/anonymise.md."""
