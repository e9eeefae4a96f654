# SPDX-License-Identifier: Apache-2.0
"""beside_torch.py LIBRARY MODEL: the library and PyTorch in one process, each with threads of OpenMP of its own or of the
same runtime. In both orders of loading, and in turns, both compute what they compute alone.
A process for each order; this one compares."""
import ctypes
import hashlib
import importlib.util
import os
import subprocess
import sys

N_THREAD = 2
N_SIDE = 40   # cells on a side of the square, as in the example


class Array(ctypes.Structure):   # surrogate_array
    _fields_ = [("data", ctypes.c_void_p), ("shape", ctypes.c_int64 * 2), ("stride", ctypes.c_int64 * 2),
                ("dtype", ctypes.c_int32), ("space", ctypes.c_int32)]


class Points(ctypes.Structure):   # surrogate_points
    _fields_ = [("x", Array), ("global_id", ctypes.c_void_p), ("cloud", ctypes.c_void_p), ("weight", ctypes.c_void_p)]


def doubles(values, n_column=1):
    memory = (ctypes.c_double * len(values))(*values)
    n = len(values) // n_column
    return memory, Array(ctypes.addressof(memory), (n, n_column), (n_column, 1), 1, 0)


class Library:
    """The pressure in the porous square of examples/01_first_result."""

    def __init__(self, path, model):
        self.c = ctypes.CDLL(path)
        self.c.surrogate_error.restype = ctypes.c_char_p
        centres = [(i + 0.5) / N_SIDE for i in range(N_SIDE)]
        self.x, x = doubles([value for a in centres for b in centres for value in (a, b)], 2)
        mobility = [12.0 if (a - 0.5) ** 2 + (b - 0.5) ** 2 < 0.25 ** 2 else 3.0 for a in centres for b in centres]
        self.mobility, self.input = doubles(mobility)
        self.pressure, self.output = doubles([0.0] * len(mobility))
        options, self.plan = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.c.surrogate_options_create(ctypes.byref(options)))
        self.check(self.c.surrogate_options_set(options, b"threads", str(N_THREAD).encode()))
        points = Points(x, None, None, None)
        self.check(self.c.surrogate_plan_open(model.encode(), ctypes.byref(points), options, ctypes.byref(self.plan)))
        self.check(self.c.surrogate_plan_bind_input(self.plan, b"mobility", b"m^2/(Pa s)", ctypes.byref(self.input)))
        self.check(self.c.surrogate_plan_bind_output(self.plan, b"pressure", b"Pa", ctypes.byref(self.output)))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.c.surrogate_error(None).decode())

    def compute(self):
        for i in range(len(self.pressure)):
            self.pressure[i] = float("nan")
        self.check(self.c.surrogate_plan_run(self.plan))
        low, high = min(self.pressure), max(self.pressure)
        assert f"{low:.3g} .. {high:.3g} Pa" == "6.19e-05 .. 0.0194 Pa", (low, high)   # as the example prints
        return hashlib.sha256(bytes(self.pressure)).hexdigest()


class Torch:
    """A product of matrices of small integers, which has no rounding, and its sum."""

    def __init__(self):
        import torch
        torch.set_num_threads(N_THREAD)
        self.torch = torch
        index = torch.arange(600 * 600, dtype=torch.float64)
        self.a, self.b = (index % 7).reshape(600, 600), (index % 11).reshape(600, 600)
        columns, rows = self.a.sum(0).tolist(), self.b.sum(1).tolist()
        self.expected = sum(int(u) * int(v) for u, v in zip(columns, rows))

    def compute(self):
        found = int((self.a @ self.b).sum().item())
        assert found == self.expected, (found, self.expected)
        many = self.torch.ones(4_000_000, dtype=self.torch.float64)   # a loop of OpenMP's, not one of MKL's
        assert many.add_(many).sum().item() == 8_000_000


def child(order, path, model):
    makers = {"library": lambda: Library(path, model), "torch": Torch}
    parts = {}
    for name in order.split(","):
        parts[name] = makers[name]()
        parts[name].compute()   # its threads start before the other is loaded
    digests = set()
    for _ in range(20):
        for part in parts.values():
            digest = part.compute()
            digests.update([digest] if digest else [])
    if len(os.listdir("/proc/self/task")) < N_THREAD:
        sys.exit("one thread did all the work")
    with open("/proc/self/maps") as maps:
        runtimes = {line.split()[-1] for line in maps if "omp." in line or "omp-" in line}
    print(*sorted(digests))
    print(order, "uses", *sorted(runtimes), file=sys.stderr)


def main():
    if len(sys.argv) == 4:
        child(sys.argv[3], *sys.argv[1:3])
        return
    if importlib.util.find_spec("torch") is None:
        print(f"SKIPPED: this Python ({sys.executable}) has no torch; -DSURROGATE_PYTHON=.. names another")
        return
    results = {}
    for order in ("library", "library,torch", "torch,library"):
        done = subprocess.run([sys.executable, __file__, *sys.argv[1:], order], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{order}: exit status {done.returncode}")
        results[order] = done.stdout.split()
    if len(results["library"]) != 1 or len({tuple(one) for one in results.values()}) != 1:
        sys.exit(f"other bits beside torch than alone: {results}")
    print("the same bits in both orders and alone")


main()
