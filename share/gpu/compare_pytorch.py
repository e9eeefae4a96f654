#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One FLARE block in PyTorch, timed in turns with ours.

    python3 share/gpu/compare_pytorch.py --program build-device/device_passes [--json FILE] [--seconds 150] [--rounds 15]

The block is that of our device passes: N = 1,000,000 points, C = 64, 8 heads, M = 128, chains of five layers, weights and
points in the precision of the row. First every variant is checked against PyTorch's own fp32 on few points and timed for a
moment: each backend of scaled_dot_product_attention, eager. Then the fastest of each precision and our program take turns, at
least 15 pairs, each side one process that stays; ratios come from these turns alone. With time left the same for the fastest
backend compiled. Records of JSON, one a line. Exit status 78: no PyTorch, or one
that cannot use a device.
"""
import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("no PyTorch here")
    sys.exit(78)

C, H, M = 64, 8, 128
BACKENDS = ["FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION", "MATH"]
# Our operand, PyTorch's type of weights and points, whether its products of fp32 may take tf32.
PRECISIONS = {
    "fp16": (torch.float16, False),
    "bf16": (torch.bfloat16, False),
    "tf32": (torch.float32, True),
    "fp32": (torch.float32, False),
}


class ResidualMlp(torch.nn.Module):
    """Five layers of width C: after all but the last tanh GELU, around each what it read is added."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(C, C) for _ in range(5))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = x + F.gelu(layer(x), approximate="tanh")
        return x + self.layers[-1](x)


class Block(torch.nn.Module):
    """x + attention(norm(x)), then x + ffn(norm(x)); points go to M latents a head and come back."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(C), torch.nn.LayerNorm(C)
        self.k, self.v, self.ffn = ResidualMlp(), ResidualMlp(), ResidualMlp()
        self.queries = torch.nn.Parameter(0.3 * torch.randn(1, H, M, C // H))
        self.out = torch.nn.Linear(C, C)

    def forward(self, x):
        n_point = x.shape[0]

        def heads(t):
            return t.view(1, n_point, H, C // H).transpose(1, 2)

        normed = self.norm1(x)
        k, v = heads(self.k(normed)), heads(self.v(normed))
        z = F.scaled_dot_product_attention(self.queries, k, v, scale=1.0)
        y = F.scaled_dot_product_attention(k, self.queries, z, scale=1.0)
        x = x + self.out(y.transpose(1, 2).reshape(n_point, C))
        return x + self.ffn(self.norm2(x))


class Clock:
    """Milliseconds of one call, by the device's events where there is one."""

    def __init__(self, device):
        self.is_cuda = device == "cuda"

    def __call__(self, run):
        if not self.is_cuda:
            start = time.perf_counter()
            run()
            return 1e3 * (time.perf_counter() - start)
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        run()
        last.record()
        last.synchronize()
        return first.elapsed_time(last)


class Ours:
    """Our program, started once for a precision; it times a block for each line it is sent."""

    def __init__(self, options, precision):
        self.command = [options.program, "turns", "--only", f"{precision} {H} x {C // H}, {M}"]
        if options.tiny:
            self.command = [options.program, "turns", "--tiny"]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def ms(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            record = json.loads(line)
            if record["part"] == "time":
                return record["ms"]
        raise RuntimeError(f"{' '.join(self.command)} ended with {self.process.wait()}")


class Comparison:
    def __init__(self, options):
        self.options = options
        self.clock = Clock(options.device)
        self.deadline = time.monotonic() + options.seconds
        self.json = open(options.json, "a") if options.json else sys.stdout
        torch.manual_seed(1)
        self.weights = Block().state_dict()
        self.few = torch.randn(1000, C)
        with torch.inference_mode():
            self.truth = self.model(torch.float64)(self.few.to(options.device, torch.float64))

    def model(self, dtype):
        block = Block()
        block.load_state_dict(self.weights)
        return block.to(self.options.device, dtype).eval()

    def record(self, part, **values):
        print(json.dumps({"part": part, **values}), file=self.json, flush=True)

    def backend(self, name):
        if name == "default":
            return contextlib.nullcontext()
        from torch.nn.attention import SDPBackend, sdpa_kernel
        return sdpa_kernel([getattr(SDPBackend, name)])

    def variant(self, precision, backend, mode):
        """A function of points, and points in its type."""
        dtype, tf32 = PRECISIONS[precision]
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        model = self.model(dtype)
        run = torch.compile(model, dynamic=False) if mode == "compiled" else model
        return run, dtype

    def screen(self, precision, backend, mode):
        """Error on few points and a first time; None if the variant cannot run."""
        run, dtype = self.variant(precision, backend, mode)
        try:
            with torch.inference_mode(), self.backend(backend):
                # Compiled for one number of points: check what is timed, on points that repeat.
                n_point = self.options.points
                points = self.few.repeat(-(-n_point // 1000), 1)[:n_point].to(self.options.device, dtype)
                y = run(points)[:1000].double()
                error = float((y - self.truth[:n_point]).norm() / self.truth[:n_point].norm())
                ms = min(self.clock(lambda: run(points)) for _ in range(3))
        except Exception as problem:  # a backend that does not take these shapes says so by any of its errors
            self.record("peer", operand=precision, backend=backend, mode=mode,
                        problem=str(problem).strip().splitlines()[0][:200] if str(problem).strip() else repr(problem))
            return None
        self.record("peer", operand=precision, backend=backend, mode=mode, ms=ms, error=error)
        return ms, run, points

    def left(self):
        return self.deadline - time.monotonic()

    def fastest(self, precision):
        """(backend, function, points) of the fastest eager variant that runs; None if there is none."""
        best = None
        for backend in self.options.backends.split(","):
            if self.left() < 5:
                self.record("peer", operand=precision, backend=backend, mode="eager", problem="no time left")
                continue
            found = self.screen(precision, backend, "eager")
            if found and (best is None or found[0] < best[0]):
                best = found[0], backend, found[1], found[2]
        return best and best[1:]

    def pairs(self, precision, backend, mode, run, points):
        """Turns of ours and theirs, each process with all it needs on the device."""
        pairs = []
        with torch.inference_mode(), self.backend(backend), Ours(self.options, precision) as ours:
            ours.ms(), run(points)
            while len(pairs) < self.options.rounds and (self.left() > 2 or len(pairs) < 2):
                own = ours.ms()
                run(points)  # the other program had the device
                pairs.append((own, statistics.median(self.clock(lambda: run(points)) for _ in range(5))))
        ratios = sorted(peer / own for own, peer in pairs)
        self.record("ratio", operand=precision, backend=backend, mode=mode, n_point=self.options.points,
                    ms=statistics.median(own for own, _ in pairs), peer_ms=statistics.median(peer for _, peer in pairs),
                    ratio=statistics.median(ratios), least=ratios[0], most=ratios[-1], n_round=len(pairs))

    def compare(self, precision):
        """Returns the fastest backend."""
        best = self.fastest(precision)
        if not best or self.left() < 3:
            return None
        backend, run, points = best
        self.pairs(precision, backend, "eager", run, points)
        return backend

    def compare_compiled(self, precision, backend):
        # Compiling takes the longest, and is paid for the fastest backend alone.
        if self.left() < 20:
            self.record("peer", operand=precision, backend=backend, mode="compiled", problem="no time left")
            return
        found = self.screen(precision, backend, "compiled")
        if found and self.left() > 3:
            self.pairs(precision, backend, "compiled", *found[1:])

    def run(self):
        device = torch.cuda.get_device_name() if self.options.device == "cuda" else "cpu"
        self.record("pytorch", version=torch.__version__, cuda=torch.version.cuda, device=device)
        precisions = self.options.precisions.split(",")
        fastest = {precision: self.compare(precision) for precision in precisions}
        for precision in precisions:
            if fastest[precision] and self.options.compiled == "yes":
                self.compare_compiled(precision, fastest[precision])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="device_passes, to take turns with")
    parser.add_argument("--json", help="file that records are added to; default standard output")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--precisions", default="fp16,fp32,tf32,bf16")
    parser.add_argument("--backends", default=",".join(BACKENDS))
    parser.add_argument("--compiled", default="yes", choices=["yes", "no"], help="also the fastest backend, compiled")
    parser.add_argument("--rounds", type=int, default=15, help="pairs of a ratio")
    parser.add_argument("--seconds", type=float, default=150, help="no variant is begun after so many")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu: to try this script")
    parser.add_argument("--tiny", action="store_true", help="our program's tiny case: to try this script")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("no CUDA device here that PyTorch can use")
        sys.exit(78)
    Comparison(options).run()


if __name__ == "__main__":
    main()
