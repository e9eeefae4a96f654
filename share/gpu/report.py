#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records of run.sh as one JSON file and one page of tables.

    python3 share/gpu/report.py records.jsonl device.json device.md

Floors of a block are those of its arithmetic, at the rates that the same run measured for copies, powers of two and products
of fp16:
    exponentials  2 N M H powers of two (encode and decode), 64 x 12 N hyperbolic tangents (GELU); 1.4 times fewer by the
                  special unit where a polynomial takes its share on the other units
    products      16 linear layers, 2 N C^2 each, and 8 N M C of attention; tf32 at half the rate of fp16, fp32 as three
                  products of tf32
    memory        x read, k written, k and x read, x written: 10 C bytes a point with 16-bit operands, 20 C with others
"""
import json
import sys

C = 64
OPERAND_BYTES = {"fp16": 2, "bf16": 2, "tf32": 4, "fp32": 4}
PRODUCT_COST = {"fp16": 1, "bf16": 1, "tf32": 2, "fp32": 6}
PASSES = ["begin", "encode", "maxima", "sums", "latents", "decode", "end", "block", "block, graph", "eight blocks", "eight blocks, graph"]


def floors(record, rates):
    """Milliseconds that a block cannot be faster than, by unit."""
    n, m, h = record["n_point"], record["n_latent"], record["n_head"]
    exponentials = 2 * n * m * h + 12 * C * n
    products = (16 * 2 * C * C + 8 * m * C) * n * PRODUCT_COST[record["operand"]]
    n_byte = 5 * C * OPERAND_BYTES[record["operand"]] * n
    work = {"exponentials": exponentials, "products of fp16": products, "copy": n_byte}
    return {what: 1e3 * amount / rates[what] for what, amount in work.items() if rates.get(what)}


def of(records, part):
    return [r for r in records if r.get("part") == part]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


def number(value, digits=3):
    return "" if value is None else f"{value:.{digits}f}"


def steps_page(records):
    rows = [(r["step"], r["result"], f"{r['seconds']} s") for r in of(records, "step")]
    return ["## Parts of the run", ""] + table(["part", "result", "time"], rows)


def machine_page(records):
    lines = ["## Machine", ""]
    for part in ("device", "software", "clock", "pytorch"):
        seen = []
        for r in of(records, part):
            text = ", ".join(f"{k} {v}" for k, v in r.items() if k != "part")
            if text not in seen:
                seen.append(text)
                lines.append(f"- {part}: {text}")
    return lines + [""]


def check_page(records):
    checks = of(records, "check")
    failed = [r for r in checks if not r["passed"]]
    lines = ["## Checks against the reference in double", "", f"{len(checks) - len(failed)} passed, {len(failed)} failed.", ""]
    rows = []
    for operand in OPERAND_BYTES:
        judged = [r for r in checks if r["operand"] == operand and r.get("error") is not None]
        if judged:
            worst = max(judged, key=lambda r: r["error"] / r["bound"])
            rows.append((operand, len(judged), f"{worst['error']:.2e}", f"{worst['bound']:.2e}", worst["case"],
                         "yes" if all(r["same_bits"] for r in judged) else "NO"))
    lines += table(["operand", "cases", "error nearest its bound", "bound", "case", "same bits twice"], rows) if rows else []
    return lines + [f"- failed: {json.dumps(r)}" for r in failed] + ([""] if failed else [])


def time_page(records, rates):
    if rates:
        lines = ["## Rates", ""] + table(["what", "rate", "unit"], [(r["what"], f"{r['rate']:.3e}", r["unit"])
                                                                  for r in of(records, "limit")])
    else:
        lines = []
    by_case = {}
    for r in of(records, "time"):
        by_case.setdefault(r["case"], {})[r["what"]] = r
    if not by_case:
        return lines
    rows, shares = [], []
    for case, passes in by_case.items():
        rows.append([case] + [number(passes[p]["ms"]) if p in passes else "" for p in PASSES])
        block = passes.get("block")
        if not block:
            continue
        least = floors(block, rates)
        highest = max(least.values(), default=None)
        shares.append([case, number(block["ms"])] + [number(least.get(w)) for w in ("exponentials", "products of fp16", "copy")]
                      + ["" if highest is None else f"{highest / block['ms']:.0%}",
                         f"{block['n_byte'] / block['n_point']:.0f}"])
    points = sorted({r["n_point"] for r in of(records, "time")})
    lines += [f"## Milliseconds, medians, N = {', '.join(str(n) for n in points)}", "",
              "Case: operands, heads x channels of a head, latents. Block: encode to decode on one rank.", ""]
    lines += table(["case"] + PASSES, rows)
    lines += ["## A block against its floors, ms", ""]
    return lines + table(["case", "block", "exponentials", "products", "memory", "share of the highest", "bytes a point"], shares)


def peer_page(records):
    ratios, peers = of(records, "ratio"), of(records, "peer")
    if not ratios and not peers:
        return []
    lines = ["## PyTorch, a block, in turns with ours", ""]
    lines += table(["operand", "fastest of PyTorch", "its ms", "our ms", "ratio", "from", "to", "pairs"],
                   [(r["operand"], f"{r['backend']}, {r['mode']}", number(r["peer_ms"]), number(r["ms"]),
                     number(r["ratio"], 2), number(r["least"], 2), number(r["most"], 2), r["n_round"]) for r in ratios])
    lines += table(["operand", "backend", "mode", "ms of a first look", "error", "problem"],
                   [(r["operand"], r["backend"], r["mode"], number(r.get("ms")),
                     f"{r['error']:.1e}" if "error" in r else "", r.get("problem", "").replace("|", "/")) for r in peers])
    return lines


def bench_page(records):
    rows = [(r["file"], r["precision"], number(1000 * r["seconds_median"]) if r["seconds_median"] else "not timed")
            for r in of(records, "bench")]
    return ["## Runs of shipped models", ""] + table(["model", "operands", "ms (median)"], rows) if rows else []


def family_page(records):
    ratios = {(r["case"], r["operand"]): r for r in of(records, "family_ratio")}
    rows = []
    for r in of(records, "family"):
        peer = ratios.get((r["case"], r["operand"]))
        rows.append((r["case"], r["operand"], number(r.get("ms")), f"{r['error']:.1e}" if "error" in r else r.get("problem", ""),
                     number(peer and peer["peer_ms"]), number(peer and peer["ratio"], 2)))
    columns = ["model", "operands", "ms (median)", "distance from the CPU in fp32", "ms of PyTorch's peer", "ratio"]
    return ["## Whole models", ""] + table(columns, rows) if rows else []


def sanitizer_page(records):
    rows = [(r["tool"], r.get("test", "passes of FLARE"), "yes" if r["passed"] else "NO", "yes" if r["stopped"] else "",
             r.get("n_check", "")) for r in of(records, "sanitizer")]
    columns = ["tool", "program", "passed", "out of time", "checks done"]
    return ["## compute-sanitizer", ""] + table(columns, rows) if rows else []


def main():
    source, to_json, to_page = sys.argv[1:]
    with open(source) as file:
        records = [json.loads(line) for line in file if line.strip().startswith("{")]
    rates = {r["what"]: r["rate"] for r in of(records, "limit")}
    with open(to_json, "w") as file:
        json.dump({"floors": __doc__.split("\n\n")[2], "records": records}, file, indent=1)
    names = [r["device"] for r in of(records, "device")]
    emulated = any(r.get("platform") == "emulated" for r in of(records, "device"))
    lines = [f"# FLARE on {names[0] if names else 'no device'}", ""]
    if emulated:
        lines += ["Device code emulated on the CPU: its times mean nothing.", ""]
    lines += machine_page(records) + steps_page(records) + check_page(records) + time_page(records, rates) + peer_page(records)
    lines += bench_page(records) + family_page(records) + sanitizer_page(records)
    with open(to_page, "w") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
