#!/usr/bin/env python3
"""Measure decode and prefill on the CPU beside another busy program, which pushes threads off their cores.

    bench/neighbour.py MODEL PROGRAM... [--threads 1,2] [--rounds 5] [--cpus 0,1] [--loops 1] [-p 128] [-n 128]

Every PROGRAM runs with every number of threads, with no neighbour and beside busy loops, in turns. The figures
are medians of the rounds, and the processor time of the program's whole run. With --cpus all of it stays on
these processors.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys


def busy_loop():
    return subprocess.Popen([sys.executable, "-c", "while True: pass"])


def measure(program, threads, a):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([program, "bench", a.model, "--device", "cpu", "--threads", threads, "-p", str(a.p), "-n", str(a.n), "-r", "1",
                           "--json"], stdout=subprocess.PIPE, check=True)
    result = json.loads(done.stdout)
    return result["prefill"]["median"], result["decode"]["median"], resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("program", nargs="+")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpus", default="")
    parser.add_argument("--loops", type=int, default=1)
    parser.add_argument("-p", type=int, default=128)
    parser.add_argument("-n", type=int, default=128)
    a = parser.parse_args()
    if a.cpus:
        os.sched_setaffinity(0, {int(cpu) for cpu in a.cpus.split(",")})
    rows = {}
    for _ in range(a.rounds):
        for loops in (0, a.loops):
            neighbours = [busy_loop() for _ in range(loops)]
            try:
                for program in a.program:
                    for threads in a.threads.split(","):
                        rows.setdefault((loops, program, threads), []).append(measure(program, threads, a))
            finally:
                for neighbour in neighbours:
                    neighbour.kill()
    print(f"{'busy loops':<11}{'threads':<8}{'prefill':>9}{'decode':>9}  {'of 1st':<7}{'user s':>7}  program")
    for loops in (0, a.loops):
        first = None
        for (at, program, threads), runs in rows.items():
            if at != loops:
                continue
            prefill, decode, user = (statistics.median(column) for column in zip(*runs))
            first = first or decode
            print(f"{loops:<11}{threads:<8}{prefill:>9.1f}{decode:>9.1f}  {decode / first:<7.2f}{user:>7.2f}  {program}")


main()
