# SPDX-License-Identifier: Apache-2.0
"""The replay of benchmarks/model on instructions whose cycles can be counted by hand.

    python3 stall_replay_test.py <benchmarks/model>
"""
import sys

sys.path.insert(0, sys.argv[1])
from sass import control
from stall_replay import Step, replay


def steps(*rows):
    """(unit, busy, latency, stall, barrier written, barriers waited for)"""
    return [Step(unit, busy, latency, stall, write, 7, wait) for unit, busy, latency, stall, write, wait in rows]


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"FAILED: {what}: {found}, expected {wanted}")


# Upper halves of MUFU.EX2 and of the FMUL behind it in a build for sm_90a: the first sets barrier 1.
expect("MUFU.EX2", tuple(control(0x000e620000000800)), (1, 1, 7, 0))
expect("FMUL", tuple(control(0x000fe20000400000)), (1, 7, 7, 0))
expect("a wait", control(0b101 << 52).wait, 0b101)

free = steps(*[("float", 1, 1, 4, 7, 0)] * 10)
expect("one warp issues every fourth cycle", replay(free, 1, 0, True), 37)
expect("a second warp fills its gaps", replay(free, 2, 1, True), 38)
expect("eight warps issue every cycle", replay(free, 8, 0, False), 80)
busy = steps(*[("special", 8, 8, 1, 7, 0)] * 10)
expect("a unit is shared by the warps", replay(busy, 2, 0, True), 153)
load = steps(("memory", 4, 270, 1, 0, 0), ("float", 1, 1, 1, 7, 1))
expect("a load is waited for", replay(load, 1, 0, True), 271)
expect("other loads are under way meanwhile", replay(load, 2, 0, False), 275)
