"""Runs a command under limits and writes its exit code and its peak memory (KiB) to a file descriptor.

A script of its own: Linux counts in a child's peak what the process that forked it held, and that of
a test run may hold more than the command is allowed.
"""

import os
import resource
import sys


def main(cpu_seconds: int, data_bytes: int, answer: int, command: list[str]) -> None:
    """Wait for the command, which inherits the standard streams."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
        resource.setrlimit(resource.RLIMIT_DATA, (data_bytes, data_bytes))
        os.execv(command[0], command)  # noqa: S606 - the command line is the test's own
    _, status, usage = os.wait4(child, 0)
    os.write(answer, f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss}".encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
