"""Log segments, from a folder of files to records.

`folder` is where readers begin: partitions and their files. `walk` goes from batch to batch through one file and
around damage, and cuts files for several readers; `batches.judged` decides about each batch, for every reader;
`columns` has the records. The message sets before magic 2 are in `message_sets`, compression in `codecs`; `c_reader`
is the compiled record reader. What cannot be read is a value, see `bad_bytes`.
"""
