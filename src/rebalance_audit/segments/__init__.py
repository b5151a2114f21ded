"""Records of segment files in bulk, as columns: `reader` is the one way to them.

`kernel` is the compiled walk, `buffers` the arrays that it fills. What it leaves, and every log that is too small for
it (`available`), goes to the plain readers of `wire.segments`. `columns` is what comes out either way, `commits` sums
up the offset commits in it, `naming` finds the records that name topics. NumPy and Numba are imported on first use.
"""
