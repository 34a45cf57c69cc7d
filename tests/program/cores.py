"""Shares the cores of a machine among comparisons that run at once."""
import os

CORES = sorted(os.sched_getaffinity(0))


def keep_to_some(number, jobs):
    """Lets this thread and the programs that it starts have a share of the cores, so that `jobs` of them do not wait."""
    some = max(1, len(CORES) // jobs)
    if jobs > 1:
        os.sched_setaffinity(0, [CORES[(number * some + i) % len(CORES)] for i in range(some)])
