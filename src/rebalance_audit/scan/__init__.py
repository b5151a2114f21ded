"""The fast way through segments: a compiled walk, and today's readers where it stops.

`kernel` walks, `room` is the memory that it works in, `segment_scan` takes it through a file. It gives what
`audit.commits.collect.set_apart` makes of the columns of `wire.segments`, so it lies above both. NumPy and Numba are
imported here and nowhere below: the core stays plain Python, and runs without either.
"""
