#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports where the time of a build went, from ninja's log, and compares it with a recorded build.

    python3 benchmarks/build_time.py [--build build] [--slowest 10] [--record FILE] [--against benchmarks/results/build-time.json]

Prints one row per folder of sources: objects, seconds (the sum over its commands) and their ratio to the recorded build, then
the slowest commands. Seconds are wall seconds of commands that share the cores, so only builds on equally idle machines with
an empty compiler cache are comparable. --record writes the table as JSON. A slower build is reported and is not a failure.
"""
import argparse
import json
import os
import re
import sys


def commands_of(folder):
    """Returns {output: seconds} of the newest run of each command, and the seconds from the first start to the last end."""
    newest, spans = {}, {}
    with open(os.path.join(folder, ".ninja_log"), encoding="utf-8") as log:
        for line in log:
            if line.startswith("#"):
                continue
            start, end, _, output, command = line.rstrip("\n").split("\t")
            newest[command] = output
            spans[command] = (int(start) / 1e3, int(end) / 1e3)
    seconds = {newest[command]: end - start for command, (start, end) in spans.items()}
    wall = max((end for _, end in spans.values()), default=0) - min((start for start, _ in spans.values()), default=0)
    return seconds, wall


def folder_of(output):
    """Returns the folder of the sources of an object: 'coupling/tool', 'libsurrogate/src/file'; 'links and others' for all else."""
    found = re.match(r"(.*?)/?CMakeFiles/[^/]+\.dir/(.*)\.(o|gch)$", output)
    if not found:
        return "links and others"
    project, inside = found.group(1), found.group(2)
    unity = re.match(r"Unity/unity_(.*)_\d+_cxx\.cxx$", inside)
    if unity:
        return unity.group(1).replace("libsurrogate_src_", "libsurrogate/src/").replace("coupling_", "coupling/").replace(
            "src/model_", "src/model/")
    inside = inside.split(project + "/")[-1]
    return os.path.normpath(os.path.join(project, os.path.dirname(inside))) if not inside.startswith("/") else project


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--slowest", type=int, default=10)
    parser.add_argument("--record", help="file to write the table to")
    parser.add_argument("--against", default=os.path.join(os.path.dirname(__file__), "results", "build-time.json"))
    arguments = parser.parse_args()
    try:
        seconds, wall = commands_of(arguments.build)
    except OSError as error:
        sys.exit(f"build_time.py: {error}; build with ninja first")
    folders = {}
    for output, took in seconds.items():
        row = folders.setdefault(folder_of(output), {"objects": 0, "seconds": 0.0})
        row["objects"] += 1
        row["seconds"] += took
    recorded = {}
    if os.path.exists(arguments.against):
        with open(arguments.against, encoding="utf-8") as file:
            recorded = json.load(file)["folders"]
    print("| folder | objects | seconds | ratio to the record |\n| --- | ---: | ---: | ---: |")
    for folder, row in sorted(folders.items(), key=lambda item: -item[1]["seconds"]):
        before = recorded.get(folder, {}).get("seconds", 0)
        print(f"| {folder} | {row['objects']} | {row['seconds']:.1f} | {row['seconds'] / before:.2f} |" if before
              else f"| {folder} | {row['objects']} | {row['seconds']:.1f} | - |")
    total = sum(row["seconds"] for row in folders.values())
    before = sum(row["seconds"] for row in recorded.values())
    print(f"\n{len(seconds)} commands, {total:.0f} s together" + (f" ({total / before:.2f} of the record)" if before else "") +
          f", {wall:.0f} s of the last build\n\nslowest:")
    for output, took in sorted(seconds.items(), key=lambda item: -item[1])[:arguments.slowest]:
        print(f"  {took:7.1f} s  {output}")
    if arguments.record:
        rounded = {folder: {"objects": row["objects"], "seconds": round(row["seconds"], 1)} for folder, row in sorted(folders.items())}
        with open(arguments.record, "w", encoding="utf-8") as file:
            json.dump({"folders": rounded, "seconds": round(total, 1)}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
