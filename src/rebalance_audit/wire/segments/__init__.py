"""Log segments, from a folder of files to records.

`folder` is where readers begin: partitions, their files and every record in offset order. `walk` goes from batch to
batch through one file and around damage, `segment_file` gives whole batches and cuts files for several readers,
`columns` is the bulk path. Batches of magic 2 are in `batches`, the message sets before them in `message_sets`,
compression in `codecs`; `c_reader` is the compiled record reader. What cannot be read is a value, see `bad_bytes`.
"""
