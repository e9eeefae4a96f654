# SPDX-License-Identifier: Apache-2.0
"""Our programs and a peer in turns: what compare_pytorch.py and compare_torch_harmonics.py share."""
import statistics
import time


def seconds_of(run, passes):
    """Mean seconds and processor seconds of a pass, as our programs report."""
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(passes):
        run()
    return (time.perf_counter() - wall) / passes, (time.process_time() - processor) / passes


def report(kind, pairs, peer):
    """Medians of (ours, the peer's) seconds and of their ratios."""
    own, other = (statistics.median(column) for column in zip(*pairs))
    ratios = sorted(b / a for a, b in pairs)
    print(f"  {kind:9} ours {own * 1e3:9.1f} ms   {peer} {other * 1e3:9.1f} ms   "
          f"ratio {statistics.median(ratios):6.2f} (from {ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)


def compare(name, ours, run, peer, rounds, passes):
    """ours(): (seconds, processor seconds, vector level) of our program; run(): one pass of the peer."""
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
