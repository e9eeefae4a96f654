# SPDX-License-Identifier: Apache-2.0
"""Parses machine code of kernels as cuobjdump prints it: instructions, blocks, loops, and the branches that a kernel's
parameters decide."""
import collections
import re
import subprocess

Instruction = collections.namedtuple("Instruction", "address guard op operands control")
Control = collections.namedtuple("Control", "stall write read wait")
LINE = re.compile(r"^\s*/\*([0-9a-f]{4,6})\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
ENCODING = re.compile(r"^\s*/\* (0x[0-9a-f]{16}) \*/\s*$")


def control(word):
    """Scheduling data of the compiler, in the upper half of an instruction since 7.0: cycles before the warp's next
    instruction may issue, the barriers (0 .. 5, 7: none) that it releases when its result is available and when its operands
    are read, and a mask of the barriers that it waits for."""
    bits = word >> 41
    return Control(bits & 15, bits >> 5 & 7, bits >> 8 & 7, bits >> 11 & 63)


def functions(binary, architecture, cuobjdump):
    """Returns {mangled name: [Instruction]} of one architecture."""
    text = subprocess.run([cuobjdump, "-sass", "-arch", architecture, binary], check=True, capture_output=True,
                          text=True).stdout
    found, current = {}, None
    for line in text.splitlines():
        name = re.match(r"\s*Function : (\S+)", line)
        if name:
            current = found.setdefault(name.group(1), [])
            continue
        match = LINE.match(line)
        if match and current is not None:
            address, guard, op, operands = match.groups()
            current.append(Instruction(int(address, 16), guard, op,
                                       [o.strip() for o in operands.split(",")] if operands else [], None))
            continue
        match = ENCODING.match(line)  # the upper half, on a separate line
        if match and current and current[-1].control is None:
            current[-1] = current[-1]._replace(control=control(int(match.group(1), 16)))
    return found


def target(instruction):
    """Returns the target address of a branch, or None. BRA.DIV is for divergent warps: never taken here. On 8.0 a call
    with a condition is a branch out of a loop; other calls are rare paths of divisions, which return."""
    base = instruction.op.split(".")[0]
    is_branch = base == "BRA" and ".DIV" not in instruction.op or base == "CALL" and instruction.guard
    if not is_branch:
        return None
    match = re.search(r"0x([0-9a-f]+)", instruction.operands[-1])
    return int(match.group(1), 16) if match else None


class Parameters:
    """The constant bank with a kernel's parameters and its launch: bytes at c[0x0][first ..]."""

    def __init__(self, first, data):
        self.first, self.data = first, data

    def word(self, offset, size=4):
        at = offset - self.first
        if at < 0 or at + size > len(self.data):
            return None
        return int.from_bytes(self.data[at:at + size], "little")


class Constants:
    """Registers whose values follow from the parameters alone (sparse conditional constants); unknown: absent."""

    def __init__(self, parameters):
        self.parameters = parameters

    @staticmethod
    def meet(states):
        common = dict(states[0])
        for state in states[1:]:
            for register in [r for r, v in common.items() if state.get(r) != v]:
                del common[register]
        return common

    def value(self, state, operand):
        """Returns 32 bits of an operand, or None."""
        text = operand.replace(".reuse", "")
        negative = text.startswith("-")
        if negative or text.startswith("~") or text.startswith("|"):
            if not negative:
                return None
            text = text[1:]
        if text in ("RZ", "URZ"):
            number = 0
        elif re.fullmatch(r"0x[0-9a-f]+", text):
            number = int(text, 16)
        elif re.fullmatch(r"c\[0x0\]\[0x[0-9a-f]+\]", text):
            number = self.parameters.word(int(text[9:-1], 16))
        else:
            number = state.get(text)
        if number is None:
            return None
        return (-number if negative else number) & 0xFFFFFFFF

    @staticmethod
    def predicate(state, operand):
        if not operand:
            return True
        negative, name = operand.startswith("!"), operand.lstrip("!")
        known = True if name in ("PT", "UPT") else state.get(name)
        return None if known is None else known != negative

    def apply(self, state, instruction):
        """Updates the state by an instruction, in place."""
        op, operands = instruction.op, instruction.operands
        guard = self.predicate(state, instruction.guard)
        if guard is False or not operands or target(instruction) is not None:
            return
        new = self.result(state, op, operands)
        written = self.written(op, operands)
        for register in written:
            value = new.get(register)
            if value is None or (guard is None and state.get(register) != value):
                state.pop(register, None)
            else:
                state[register] = value

    @staticmethod
    def next(register, n):
        match = re.fullmatch(r"(U?R)(\d+)", register)
        return f"{match.group(1)}{int(match.group(2)) + n}" if match else register

    def written(self, op, operands):
        base = op.split(".")[0]
        if base in ("STG", "STS", "ST", "BAR", "RED", "REDG", "BSSY", "BSYNC", "EXIT", "WARPSYNC", "NOP", "BRA", "LDGSTS"):
            return []
        registers = [operands[0]]
        for operand in operands[1:3]:  # output predicates before or after the result
            if re.fullmatch(r"U?P\d", operand):
                registers.append(operand)
        if re.fullmatch(r"U?P(\d|T)", operands[0]) and len(operands) > 1:
            registers.append(operands[1])
        wide = 4 if base in ("HMMA", "LDG", "LDS", "LD", "LDL") else 2 if re.search(r"\.64|WIDE|CS2R", op) else 1
        if base in ("LDG", "LDS") and ".128" not in op:
            wide = 2 if ".64" in op else 1
        for n in range(1, wide):
            registers.append(self.next(operands[0], n))
        return registers

    def result(self, state, op, operands):
        """Returns {register: value or None}; registers that are not named stay unknown."""
        base, parts = op.split(".")[0], op.split(".")[1:]
        v = [self.value(state, o) for o in operands]
        to = operands[0]
        if base in ("LDC", "ULDC"):
            match = re.fullmatch(r"c\[0x0\]\[0x([0-9a-f]+)\]", operands[1])
            if not match:
                return {}
            offset = int(match.group(1), 16)
            if "64" in parts:
                return {to: self.parameters.word(offset), self.next(to, 1): self.parameters.word(offset + 4)}
            return {to: self.parameters.word(offset, 1 if "U8" in parts else 4)}
        if base in ("MOV", "UMOV", "R2UR"):
            return {to: v[1]}
        if base in ("ISETP", "UISETP"):
            return self.compare(state, parts, operands, v)
        if base in ("SEL", "USEL", "FSEL"):
            chosen = self.predicate(state, operands[3])
            return {} if chosen is None else {to: v[1] if chosen else v[2]}
        if base in ("IADD3", "UIADD3", "LEA"):
            return self.add(state, base, parts, operands)
        if base in ("LOP3", "ULOP3") and len(operands) >= 5 and not re.fullmatch(r"U?P(\d|T)", operands[0]):
            return {to: self.bits(v[1:4], v[4])}
        if base == "IMAD" and parts == ["X"]:
            carry = self.predicate(state, operands[4])
            known = None not in v[1:4] and carry is not None
            return {to: (v[1] * v[2] + v[3] + int(carry)) & 0xFFFFFFFF} if known else {}
        if None in v[1:]:
            return {}
        wrap = 0xFFFFFFFF
        if base == "VIADD":
            return {to: (v[1] + v[2]) & wrap}
        if base in ("IMAD", "UIMAD") and len(v) == 4 and not {"WIDE", "HI", "X"} & set(parts):
            return {to: (v[1] * v[2] + v[3]) & wrap}
        if base in ("SHF", "USHF") and len(v) == 4:
            return {to: self.shift(parts, v)}
        return {}

    @staticmethod
    def bits(inputs, table):
        """Evaluates LOP3: bit by bit, the table's entry for three input bits."""
        if None in inputs or table is None:
            return None
        result = 0
        for entry in range(8):
            if table >> entry & 1:
                term = 0xFFFFFFFF
                for place, value in zip((4, 2, 1), inputs):
                    term &= value if entry & place else ~value & 0xFFFFFFFF
                result |= term
        return result

    def add(self, state, base, parts, operands):
        """Evaluates sums of three, and of two with one shifted; a predicate after the result receives the carry."""
        carries = [o for o in operands[1:3] if re.fullmatch(r"U?P(\d|T)", o)]
        rest = operands[1 + len(carries):]
        carry_in = 0
        if "X" in parts:
            known = self.predicate(state, rest[-2]) if len(rest) >= 4 else None
            if known is None or base == "LEA":
                return {}
            carry_in, rest = int(known), rest[:-2]
        values = [self.value(state, o) for o in rest if not re.fullmatch(r"!?U?P(\d|T)", o)]
        if None in values:
            return {}
        if base == "LEA":
            if "HI" in parts and parts != ["HI"] or len(values) != (4 if "HI" in parts else 3):
                return {}
            low, second, amount = values[0], values[1], values[-1] & 31
            high = values[2] if "HI" in parts else 0
            shifted = (high << 32 | low) << amount
            values = [(shifted >> 32 if "HI" in parts else shifted) & 0xFFFFFFFF, second]
        total = sum(values) + carry_in
        new = {operands[0]: total & 0xFFFFFFFF}
        if len(carries) == 1:
            new[carries[0]] = bool(total >> 32)
        return new

    @staticmethod
    def shift(parts, v):
        low, amount, high = v[1], v[2] & 63, v[3]
        if parts[0] == "L":
            return (low << (amount & 31)) & 0xFFFFFFFF if "HI" not in parts else None
        if "HI" in parts:
            amount &= 31
            signed = high - (1 << 32) if "S32" in parts and high >> 31 else high
            return (signed >> amount) & 0xFFFFFFFF
        return None if "U64" not in parts and "S64" not in parts else ((high << 32 | low) >> amount) & 0xFFFFFFFF

    def compare(self, state, parts, operands, v):
        first, second = v[2], v[3]
        combined = self.predicate(state, operands[4]) if len(operands) > 4 else True
        known = None
        if first is not None and second is not None:
            if "U32" not in parts:
                first, second = ((x - (1 << 32) if x >> 31 else x) for x in (first, second))
            known = {"EQ": first == second, "NE": first != second, "LT": first < second, "LE": first <= second,
                     "GT": first > second, "GE": first >= second}.get(parts[0])
            if "EX" in parts and known is not None:
                # The high words; if they are equal, the low words in the last operand decide.
                low = self.predicate(state, operands[-1])
                same = first == second
                if parts[0] == "NE":
                    known = True if not same else low
                elif parts[0] == "EQ":
                    known = False if not same else low
                elif same:
                    known = low
        if "OR" in parts:
            result = True if known is True or combined is True else None if None in (known, combined) else False
        else:
            result = False if known is False or combined is False else None if None in (known, combined) else True
        return {operands[0]: result, operands[1]: None}


class Graph:
    """Blocks of a function that are reachable with its parameters, with edges, dominators and loops."""

    def __init__(self, code, parameters):
        self.code = code
        self.index = {instruction.address: i for i, instruction in enumerate(code)}
        self.blocks = self.cut()
        self.edges = self.follow(Constants(parameters))
        self.order = self.postorder()[::-1]
        self.dominators = self.dominate()
        self.loops = self.find_loops()

    def cut(self):
        starts = {0}
        for i, instruction in enumerate(self.code):
            goal = target(instruction)
            if goal is not None:
                starts |= {self.index[goal], i + 1}
            elif instruction.op in ("EXIT",) or instruction.op.startswith("RET"):
                starts.add(i + 1)
        starts = sorted(s for s in starts if s < len(self.code))
        return {s: range(s, e) for s, e in zip(starts, starts[1:] + [len(self.code)])}

    def successors(self, block, state, constants):
        last = self.code[self.blocks[block][-1]]
        following = self.blocks[block][-1] + 1
        goal = target(last)
        if last.op == "EXIT" and not last.guard or last.op.startswith("RET") and not last.guard:
            return []
        if goal is None:
            return [following] if following in self.blocks else []
        taken = constants.predicate(state, last.guard)
        for operand in last.operands[:-1]:  # a second condition
            second = constants.predicate(state, operand)
            taken = False if False in (taken, second) else None if None in (taken, second) else True
        if taken is True:
            return [self.index[goal]]
        return [following] if taken is False else [self.index[goal], following]

    def follow(self, constants):
        into, edges, work = {0: {None: {}}}, {}, [0]
        while work:
            block = work.pop()
            state = constants.meet(list(into[block].values()))
            for i in self.blocks[block]:
                constants.apply(state, self.code[i])
            edges[block] = self.successors(block, state, constants)
            for successor in edges[block]:
                known = into.setdefault(successor, {})
                if known.get(block) != state or block not in known:
                    known[block] = dict(state)
                    work.append(successor)
        return edges

    def postorder(self):
        seen, order, stack = set(), [], [(0, iter(self.edges[0]))]
        seen.add(0)
        while stack:
            block, rest = stack[-1]
            for successor in rest:
                if successor not in seen:
                    seen.add(successor)
                    stack.append((successor, iter(self.edges[successor])))
                    break
            else:
                order.append(block)
                stack.pop()
        return order

    def dominate(self):
        rank = {b: i for i, b in enumerate(self.order)}
        before = collections.defaultdict(list)
        for b in self.order:
            for s in self.edges[b]:
                before[s].append(b)
        self.before = before
        idom, changed = {0: 0}, True
        while changed:
            changed = False
            for b in self.order[1:]:
                known = [p for p in before[b] if p in idom]
                new = known[0]
                for p in known[1:]:
                    while p != new:
                        while rank[p] > rank[new]:
                            p = idom[p]
                        while rank[new] > rank[p]:
                            new = idom[new]
                if idom.get(b) != new:
                    idom[b], changed = new, True
        return idom

    def is_dominated(self, block, by):
        while block != by and block != 0:
            block = self.dominators[block]
        return block == by

    def find_loops(self):
        """Returns {header: set of blocks}, natural loops; loops with one header are merged."""
        loops = {}
        for block in self.order:
            for successor in self.edges[block]:
                if self.is_dominated(block, successor):
                    body, work = {successor, block}, [block]
                    while work:
                        b = work.pop()
                        if b == successor:
                            continue
                        for p in self.before[b]:
                            if p not in body:
                                body.add(p)
                                work.append(p)
                    loops.setdefault(successor, set()).update(body)
        return loops

    def inner_loops(self, body, header):
        """Returns headers of the loops directly inside."""
        inside = [h for h, b in self.loops.items() if h != header and h in body and b < body | {h}]
        return [h for h in inside if not any(h in self.loops[o] and h != o for o in inside)]

    def count(self, block):
        return collections.Counter(self.code[i].op for i in self.blocks[block])
