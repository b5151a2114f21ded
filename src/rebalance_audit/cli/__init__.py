"""The command line: one command per file, loaded when it is asked for."""
