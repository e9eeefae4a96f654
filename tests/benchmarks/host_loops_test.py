# SPDX-License-Identifier: Apache-2.0
"""benchmarks/model/host_loops.py on instructions that can be counted by hand.

    python3 host_loops_test.py <benchmarks/model>
"""
import subprocess
import sys
import tempfile
from pathlib import Path

model = Path(sys.argv[1])
sys.path.insert(0, str(model))
from host_loops import content, functions, has_frame, innermost_loops, short

# An outer loop (10 .. 60) that writes to the stack; the inner one (20 .. 40) is clean, and its middle part (70, 78) lies behind
# the function's end, as compilers place parts that they think are rare.
CLEAN = """
0000000000000000 <void surrogate::kernels::N_AVX2::(anonymous namespace)::clean<6, (surrogate::kernels::Kind)1>(float const*, long)>:
   0:\tpush   %rbp
   4:\tmov    %rsp,%rbp
  10:\tvmovups (%rsi),%ymm1
  18:\tmov    -0x8(%rbp),%rax
  20:\tvfmadd231ps %ymm2,%ymm1,%ymm5
  28:\tvfmadd231ps 0x40(%rdi),%ymm1,%ymm6        # 2f <somewhere>
  30:\tjne    70 <void surrogate::kernels::N_AVX2::clean+0x70>
  38:\tprefetcht0 (%rax)
  40:\tjne    20 <void surrogate::kernels::N_AVX2::clean+0x20>
  50:\tvmovaps %ymm5,-0x40(%rbp)
  60:\tjne    10 <void surrogate::kernels::N_AVX2::clean+0x10>
  68:\tret
  70:\tvmovups %ymm5,(%rdi,%rax,4)
  78:\tjmp    38 <void surrogate::kernels::N_AVX2::clean+0x38>
"""
# The sums of its only loop lie on the stack, as does an address; an array with an index does not count, and %rbp is no frame.
SPILLING = """
0000000000000100 <void surrogate::kernels::N_AVX2::spilling<2>(float const*)>:
 100:\tvmovaps 0x8(%rsp),%ymm3
 106:\tvfmadd231ps (%rbp),%ymm1,%ymm3
 10c:\tvmovaps %ymm3,0x8(%rsp)
 112:\tmov    (%rsp),%rdx
 118:\tvmovups (%rsp,%rdx,4),%ymm1
 11e:\tjne    100 <void surrogate::kernels::N_AVX2::spilling+0x0>
 124:\tret
"""


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"FAILED: {what}: {found}, expected {wanted}")


(name, code), (other, bad) = functions(CLEAN + SPILLING)
expect("a short name", short(name), "clean<6, (Kind)1>")
expect("another", short(other), "spilling<2>")
loops = innermost_loops(code)
expect("innermost loops", [[hex(i.address) for i in loop] for loop in loops],
       [["0x20", "0x28", "0x30", "0x38", "0x40", "0x70", "0x78"]])
expect("frames", (has_frame(code), has_frame(bad)), (True, False))
expect("the clean loop", tuple(content(loops[0], True)), (7, 2, 1, 1, 0, 0))
expect("the spilling loop", tuple(content(innermost_loops(bad)[0], False)), (6, 1, 4, 1, 2, 1))
expect("with a frame in %rbp", tuple(content(innermost_loops(bad)[0], True)), (6, 1, 4, 1, 3, 1))


def verdict(line):
    """(status, last line) of the program for a list of one line."""
    with tempfile.TemporaryDirectory() as folder:
        text, wanted = Path(folder) / "loops.s", Path(folder) / "list.txt"
        text.write_text(CLEAN + SPILLING)
        wanted.write_text(f"# hot loops\n{line}  # reason\n")
        run = subprocess.run([sys.executable, model / "host_loops.py", text, "--list", wanted], capture_output=True, text=True)
        return run.returncode, (run.stdout + run.stderr).splitlines()[-1]


expect("a clean loop passes", verdict("a.cpp AVX2 ^clean<6, 2 0 0")[0], 0)
expect("what is allowed passes", verdict("a.cpp AVX2 ^spilling 1 2 1")[0], 0)
expect("a spill is found", verdict("a.cpp AVX2 ^spilling 1 1 1"),
       (1, "wrong: a.cpp AVX2 spilling<2>: 2 vectors and 1 others on the stack in its loop, 1 and 1 allowed"))
expect("a function that is gone", verdict("a.cpp AVX3 ^clean 2 0 0"),
       (1, "wrong: a.cpp AVX3 ^clean: no loop with 2 multiply-adds"))
expect("a loop that has lost its products", verdict("a.cpp AVX2 ^clean 3 0 0")[0], 1)
expect("a line that lacks a word", verdict("a.cpp AVX2 ^clean 2 0")[0], 1)
