# SPDX-License-Identifier: Apache-2.0
"""Runs programs of libsurrogate and a peer alternately; shared by compare_pytorch.py and compare_torch_harmonics.py."""
import statistics
import time


def seconds_of(run, passes):
    """Returns mean seconds and processor seconds per pass, as the programs report."""
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(passes):
        run()
    return (time.perf_counter() - wall) / passes, (time.process_time() - processor) / passes


def report(kind, pairs, peer):
    """Returns medians of seconds (libsurrogate, peer) and of their ratios."""
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
