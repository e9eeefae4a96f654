#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole models of every family on a device: times of ours, and of PyTorch in turns with ours.

    python3 share/gpu/compare_families.py --program build/bin/device_families [--json FILE] [--seconds 150] [--hept-code HEPT/example]

Ours is a whole model from and to host memory (device_families); PyTorch's peer is what its users would write for the expensive part
of it, on the device, eager, on arrays that lie there already:
  bsa, group_compression   scaled_dot_product_attention over all 65,536 points, 8 heads of 8, as often as the model has layers
  sequoia                  the same layers with batched products on views of whole levels (benchmarks/compare_sequoia.py)
  hept                     the authors' network, whole, with --hept-code (https://github.com/Graph-COM/HEPT, folder example)
  global                   attention of the four blocks, one head of 128 over 64 x 128 points, weights of quadrature as a bias, with
                           its four projections
  flare, neighborhood      none here: compare_pytorch.py compares FLARE's block, torch-harmonics has neighborhoods
Records of JSON, one a line. Exit status 77: no device.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

CASES = ["hept", "sequoia", "bsa", "group_compression", "global", "neighborhood", "flare"]
BENCHMARKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "benchmarks")


def peer_bsa(torch, dtype):
    q, k, v = (torch.randn(1, 8, 65_536, 8, device="cuda", dtype=dtype) for _ in range(3))

    def run():
        for _ in range(2):
            torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return run


def peer_sequoia(torch, dtype):
    import compare_sequoia as peer
    attention, levels = torch.nn.functional.scaled_dot_product_attention, peer.Levels()
    layers = [peer.Layer(peer.Blocks(attention, levels)).to("cuda", dtype) for _ in range(2)]
    x = torch.randn(levels.n_node, peer.C, device="cuda", dtype=dtype)
    return lambda: layers[1](layers[0](x))


def peer_hept(torch, dtype):
    import compare_hept as peer
    from transformer import Transformer
    network = Transformer(in_dim=peer.F, coords_dim=peer.D, num_classes=None, **peer.SHAPE).eval().to("cuda", dtype)
    x, coords, batch = (t.to("cuda") for t in peer.hits(60_000))
    return lambda: network(x.to(dtype), coords.to(dtype), batch)


def peer_global(torch, dtype):
    n, c = 64 * 128, 128
    projections = [[torch.nn.Linear(c, c, device="cuda", dtype=dtype) for _ in range(4)] for _ in range(4)]
    x = torch.randn(1, 1, n, c, device="cuda", dtype=dtype)
    bias = torch.randn(1, 1, 1, n, device="cuda", dtype=dtype)

    def run():
        y = x
        for q, k, v, out in projections:
            y = out(torch.nn.functional.scaled_dot_product_attention(q(y), k(y), v(y), attn_mask=bias))
    return run


PEERS = {"bsa": peer_bsa, "group_compression": peer_bsa, "sequoia": peer_sequoia, "hept": peer_hept, "global": peer_global}


class Comparison:
    def __init__(self, options):
        self.options = options
        self.deadline = time.monotonic() + options.seconds
        self.json = open(options.json, "a") if options.json else sys.stdout
        self.n_failed = 0

    def record(self, part, **values):
        print(json.dumps({"part": part, **values}), file=self.json, flush=True)

    def peer(self, case, precision):
        """The peer's function, and PyTorch; None if there is none for this case."""
        if case not in PEERS or (case == "hept" and not self.options.hept_code):
            return None
        try:
            import torch
            torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
            dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
            with torch.inference_mode():
                run = PEERS[case](torch, dtype)
                run()
            return run
        except Exception as problem:  # PyTorch missing, no memory, shapes that it does not take: recorded, no failure of ours
            self.record("family_peer", case=case, operand=precision, problem=f"{type(problem).__name__}: {problem}"[:200])
            return None

    def compare(self, case, precision):
        command = [self.options.program, case, precision, "turns"]
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        first = program.stdout.readline()
        if not first:
            status = program.wait()
            if status == 77:
                print("no device here")
                sys.exit(77)
            self.n_failed += 1
            self.record("family", case=case, operand=precision, problem=f"status {status}")
            return
        self.json.write(first)
        self.json.flush()
        run = self.peer(case, precision)
        if run:
            self.turns(program, case, precision, run)
        program.stdin.close()
        program.wait()

    def turns(self, program, case, precision, run):
        import torch

        def ours():
            program.stdin.write("\n")
            program.stdin.flush()
            return json.loads(program.stdout.readline())["ms"]

        def theirs():
            start = time.perf_counter()
            run()
            torch.cuda.synchronize()
            return 1e3 * (time.perf_counter() - start)

        pairs = []
        with torch.inference_mode():
            for _ in range(self.options.rounds):
                own = statistics.median(ours() for _ in range(3))
                theirs()  # the other program had the device
                pairs.append((own, statistics.median(theirs() for _ in range(3))))
        ratios = sorted(other / own for own, other in pairs)
        self.record("family_ratio", case=case, operand=precision, ms=statistics.median(own for own, _ in pairs),
                    peer_ms=statistics.median(other for _, other in pairs), ratio=statistics.median(ratios),
                    least=ratios[0], most=ratios[-1], n_round=len(pairs))

    def run(self):
        for precision in self.options.precisions.split(","):
            for case in self.options.cases.split(","):
                if time.monotonic() > self.deadline:
                    self.record("family", case=case, operand=precision, problem="no time left")
                else:
                    self.compare(case, precision)
        return 1 if self.n_failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="device_families")
    parser.add_argument("--json", help="file that records are added to; default standard output")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--precisions", default="fp16,fp32,tf32")
    parser.add_argument("--rounds", type=int, default=7, help="pairs of a ratio")
    parser.add_argument("--seconds", type=float, default=150, help="no case is begun after so many")
    parser.add_argument("--hept-code", help="folder `example` of the authors' repository")
    options = parser.parse_args()
    sys.path.insert(0, BENCHMARKS)
    if options.hept_code:
        sys.path.insert(0, options.hept_code)
    sys.exit(Comparison(options).run())


if __name__ == "__main__":
    main()
