#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Analyzes innermost loops of compiled vector kernels: their instructions, values on the stack that should be in registers, and
the cycles that llvm-mca predicts. A model, without measurements.

    python3 benchmarks/model/host_loops.py build [--list tests/kernels/base/hot_loops.txt] [--cpu icelake-server]

`build` is a build folder (GCC, Release). The list names the hot loops, one per line:

    <source of the object> <level> <expression for the function> <multiply-adds of the loop> <vectors> <others>

The expression is searched in the name without namespaces, as c++filt prints it. In each matching function, the loop with the most
multiply-adds is used; it must have at least the number in the line. The last two numbers are the allowed instructions that read or
write a vector, or other data, on the stack. The status is 1 if a loop has more, or if a line matches nothing: then the compiler has
renamed the function, and the line must be updated. With --cpu, llvm-mca's cycles per iteration are printed beside each loop,
and the fraction of two multiply-adds per cycle, the peak of these processors. It models no caches; its model of Zen 3 in LLVM 14
counts one multiply-add per cycle, which is wrong.
"""
import argparse
import collections
import re
import shutil
import subprocess
import sys
from pathlib import Path

Instruction = collections.namedtuple("Instruction", "address op operands")
HEAD = re.compile(r"^[0-9a-f]+ <(.*)>:$")
LINE = re.compile(r"^\s*([0-9a-f]+):\t(\S+)(?:\s+(.*?))?\s*(?:#.*)?$")


def functions(text):
    """Returns [(name, [Instruction])] of the output of `objdump -dC --no-show-raw-insn` prints."""
    found = []
    for line in text.splitlines():
        head = HEAD.match(line)
        if head:
            found.append((head.group(1), []))
            continue
        match = LINE.match(line)
        if match and found:
            address, op, operands = match.groups()
            found[-1][1].append(Instruction(int(address, 16), op, re.sub(r"\s*<.*>", "", operands or "")))
    return found


def short(name):
    """Returns the name without namespaces and parameters: `score_block<6, 2>`."""
    name = re.sub(r"\(anonymous namespace\)::|\b(?:surrogate|kernels|N_\w+|[a-z]+)::", "", name)
    name = re.sub(r" \[clone.*\]$", "", name)
    depth, end = 0, len(name)
    for i in range(len(name) - 1, -1, -1):  # the last pair of brackets holds the parameters
        depth += {")": 1, "(": -1}.get(name[i], 0)
        if depth == 0 and name[i] == "(":
            end = i
            break
    return re.sub(r"^(?:void|auto|bool|float|int64_t|long) ", "", name[:end])


def target(instruction):
    """Returns the target address of a jump within its function, or None."""
    match = re.fullmatch(r"([0-9a-f]+)", instruction.operands) if instruction.op.startswith("j") else None
    return int(match.group(1), 16) if match else None


def innermost_loops(code):
    """Returns [[Instruction]]: natural loops without inner loops, for any layout of their parts."""
    place = {instruction.address: i for i, instruction in enumerate(code)}
    successors, predecessors = [[] for _ in code], [[] for _ in code]
    for i, instruction in enumerate(code):
        if i + 1 < len(code) and instruction.op not in ("jmp", "ret", "ud2"):
            successors[i].append(i + 1)
        to = place.get(target(instruction))
        if to is not None:
            successors[i].append(to)
        for s in successors[i]:
            predecessors[s].append(i)
    bodies = {}
    for tail, ends in enumerate(successors):
        for head in ends:
            if head > tail or reaches(successors, tail, head):  # not every path to the tail passes
                                                                # the head
                continue
            body, todo = bodies.setdefault(head, {head}), [tail]
            while todo:
                at = todo.pop()
                if at not in body:
                    body.add(at)
                    todo += predecessors[at]
    return [[code[i] for i in sorted(body)] for head, body in bodies.items()
            if not any(other != head and other in body for other in bodies)]


def reaches(successors, end, without):
    """Returns True if a path leads from the function's begin to `end`, not through `without`."""
    seen, todo = {without}, [0]
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        if at == end:
            return True
        seen.add(at)
        todo += successors[at]
    return False


Content = collections.namedtuple("Content", "instructions fma loads stores vectors others")


def content(loop, has_frame):
    """Returns counts of a loop. A stack slot has a fixed offset from %rsp (or from %rbp, if it is the frame pointer); with an
    index it is an array of the program."""
    stack = re.compile(r"(?<![\w)])(?:-?0x[0-9a-f]+)?\(%r(?:sp|bp)\)" if has_frame else
                       r"(?<![\w)])(?:-?0x[0-9a-f]+)?\(%rsp\)")
    fma = loads = stores = vectors = others = 0
    for instruction in loop:
        fma += bool(re.match(r"vfn?m(add|sub)", instruction.op))
        if "(" in instruction.operands and not instruction.op.startswith(("lea", "prefetch", "nop")):
            if re.search(r"\)$", instruction.operands) and instruction.op.startswith(("vmov", "mov")):
                stores += 1
            else:
                loads += 1
        if stack.search(instruction.operands) and not instruction.op.startswith("nop"):
            if "mm" in instruction.operands:
                vectors += 1
            else:
                others += 1
    return Content(len(loop), fma, loads, stores, vectors, others)


def has_frame(code):
    return any(i.op == "mov" and i.operands == "%rsp,%rbp" for i in code[:12])


def cycles(loop, cpu, mca):
    """Returns the cycles of an iteration, by llvm-mca; None if the processor lacks an instruction."""
    text = ""
    for instruction in loop:
        to = target(instruction)
        operands = ".Lhead" if to is not None else instruction.operands
        text += f"{instruction.op} {operands}\n"
    run = subprocess.run([mca, f"-mcpu={cpu}", "-iterations=200", "-all-stats=false", "-summary-view"],
                         input=".Lhead:\n" + text, capture_output=True, text=True)
    if "unsupported instruction" in run.stderr:
        return None
    match = re.search(r"Total Cycles:\s+(\d+)", run.stdout)
    if not match:
        sys.exit(f"llvm-mca said: {run.stderr.strip()}")
    return int(match.group(1)) / 200


def objects(build, source):
    """Returns the object of a source, given as <folder>/<file>."""
    found = sorted(Path(build).glob(f"kernels/CMakeFiles/*.dir/{source}.o"))
    if not found:
        sys.exit(f"{build} has no object of kernels/{source}; build the target surrogate_kernels first")
    return found[0]


class Disassembly:
    """Returns functions of an object and level by their short names, read once."""

    def __init__(self, objdump):
        self.objdump, self.read = objdump, {}

    def of(self, path, level):
        if path not in self.read:
            text = subprocess.run([self.objdump, "-dC", "--no-show-raw-insn", path], check=True, capture_output=True,
                                  text=True).stdout if path.suffix == ".o" else path.read_text()
            self.read[path] = functions(text)
        return [(short(name), code) for name, code in self.read[path] if f"N_{level}::" in name]


def lines_of(path):
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if line:
            words = line.split()
            if len(words) < 6:
                sys.exit(f"{path}, line {number}: 6 words wanted: source, level, expression, multiply-adds, vectors, others")
            source, level, *expression, fma, vectors, others = words
            yield source, level, " ".join(expression), int(fma), int(vectors), int(others)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build folder, or a file of objdump's text")
    parser.add_argument("--list", default=Path(__file__).parents[2] / "tests/kernels/base/hot_loops.txt")
    parser.add_argument("--cpu", default="", help="names for llvm-mca, with commas")
    parser.add_argument("--objdump", default=shutil.which("objdump") or "objdump")
    parser.add_argument("--mca", default=shutil.which("llvm-mca") or "llvm-mca")
    args = parser.parse_args()
    cpus = [cpu for cpu in args.cpu.split(",") if cpu]
    disassembly, wrong = Disassembly(args.objdump), []
    print(f"{'source, level, function':74s} instr  fma loads stores vectors others" +
          "".join(f"  {cpu}" for cpu in cpus))
    for source, level, expression, fma, vectors, others in lines_of(args.list):
        path = Path(args.build) if Path(args.build).is_file() else objects(args.build, source)
        seen = set()
        for name, code in disassembly.of(path, level):
            if not re.search(expression, name) or name in seen:
                continue
            loops = innermost_loops(code)
            best = max(loops, key=lambda loop: content(loop, False).fma, default=None)
            found = content(best, has_frame(code)) if best else None
            if not found or found.fma < fma:
                continue
            seen.add(name)
            row = f"{source} {level} {name}"
            print(f"{row:74s} {found.instructions:5d} {found.fma:4d} {found.loads:5d} {found.stores:6d} {found.vectors:7d} "
                  f"{found.others:6d}" + "".join(
                      f"  {c:.1f} ({found.fma / 2 / c:.0%})" if c else "  -"
                      for c in (cycles(best, cpu, args.mca) for cpu in cpus)))
            if found.vectors > vectors or found.others > others:
                wrong.append(f"{row}: {found.vectors} vectors and {found.others} others on the stack in its loop, "
                             f"{vectors} and {others} allowed")
        if not seen:
            wrong.append(f"{source} {level} {expression}: no loop with {fma} multiply-adds")
    for text in wrong:
        print("wrong: " + text)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
