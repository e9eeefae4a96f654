# SPDX-License-Identifier: Apache-2.0
"""What the scripts compare_*.py share: they run a benchmark of libsurrogate and a peer in alternation and print medians and ratios.

The programs alternate, so that load on the machine affects both. Only ratios of such paired runs are meaningful: of wall-clock seconds on
an idle machine, of processor seconds (all threads) if other programs run too.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time


def parser(description, rounds, only=None, peer_threads="of PyTorch; ours take as many"):
    """Returns a parser of the options that all comparisons have. only: the cases, separated by commas."""
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", default="build", help="with benchmarks (-DSURROGATE_BENCHMARKS=ON)")
    arguments.add_argument("--rounds", type=int, default=rounds)
    arguments.add_argument("--threads", type=int, default=2, help=peer_threads)
    if only:
        arguments.add_argument("--only", default=only)
    return arguments


def program_path(build, program):
    path = os.path.join(build, "bin", program)
    if not os.path.exists(path):
        sys.exit(f"{path} does not exist; configure with -DSURROGATE_BENCHMARKS=ON and build it")
    return path


def measured(build, program, wanted):
    """Returns (seconds, processor seconds of one pass, vector level) as one run of the program measures it."""
    text = subprocess.run([program_path(build, program), f"--benchmark_filter=^{wanted}", "--benchmark_format=json"],
                          check=True, capture_output=True, text=True).stdout
    runs = json.loads(text)["benchmarks"]
    if len(runs) != 1 or runs[0].get("error_occurred"):
        sys.exit(f"{program} gave no single result for {wanted}: {text}")
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[runs[0]["time_unit"]]
    return runs[0]["real_time"] * scale, runs[0]["cpu_time"] * scale, runs[0].get("label", "")


def seconds_of(run, passes):
    """Returns mean seconds and processor seconds per pass, as the programs report."""
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(passes):
        run()
    return (time.perf_counter() - wall) / passes, (time.process_time() - processor) / passes


def fastest(variants, passes=2, warm=1):
    """Returns the name and the function with the fewest processor seconds per pass. variants: functions by name."""
    times = {}
    for name, run in variants.items():
        try:
            for _ in range(warm):
                run()
            times[name] = seconds_of(run, passes)[1]
            print(f"  {name}: {times[name] * 1e3:.0f} ms", flush=True)
        except Exception as error:   # a machine without a compiler for torch.compile
            print(f"  {name}: {type(error).__name__}")
    name = min(times, key=times.get)
    return name, variants[name]


def report(kind, pairs, peer):
    """Prints medians of seconds (libsurrogate, peer) and of their ratios."""
    own, other = (statistics.median(column) for column in zip(*pairs))
    ratios = sorted(b / a for a, b in pairs)
    print(f"  {kind:9} ours {own * 1e3:9.1f} ms   {peer} {other * 1e3:9.1f} ms   "
          f"ratio {statistics.median(ratios):6.2f} (from {ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)


def compare(name, ours, run, peer, rounds, passes):
    """Alternates ours(): (seconds, processor seconds, vector level) of libsurrogate; run(): one pass of the peer."""
    run()  # allocates and warms up, as the check against the reference does in the other program
    wall, processor = [], []
    for _ in range(rounds):
        own_wall, own_processor, level = ours()
        other_wall, other_processor = seconds_of(run, passes)
        wall.append((own_wall, other_wall))
        processor.append((own_processor, other_processor))
    print(f"{name} ({level})")
    report("wall", wall, peer)
    report("processor", processor, peer)
