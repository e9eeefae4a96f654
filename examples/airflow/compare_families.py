#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains one model of each family on the same bodies for the same time, and prints a table.

    python3 examples/airflow/compare_families.py [--minutes 2 | --epochs flare=16,bsa=7,...]

Writes the data sets that the current folder does not have yet, with the program airflow, and trains
each family with one thread. With --minutes the number of epochs follows from a measured step, which
is too long on a busy machine: then use --epochs. Minutes are processor minutes. Errors are means
over bodies that training did not have. Seconds are processor seconds of planning and predicting a
body with one thread, by `airflow -sweep`. Memory is the workspace of the plan, by `surrogate bench`.
Families with a result of the same options in the folder are not trained again; one of other options
is an error. Needs no Python package.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys

FEATURES = ["along", "across", "height", "normal.along", "normal.across", "normal.up"]
BSA = {"dimensionality": 3, "c_in": 6, "c_out": 1, "c_hidden": 32, "depth": 4, "num_heads": 4, "mlp_ratio": 4, "block_size": 2,
       "pos_enc": "none"}
SPARSE = {"compress_block_size": 8, "group_selection_size": 8, "selected_blocks_number": 4, "use_coarse_q_attn": True}
# family of the library, network
FAMILIES = {
    "FLARE": ("flare", {"in_dim": 6, "out_dim": 1, "channel_dim": 32, "num_blocks": 4, "num_heads": 4, "num_latents": 64}),
    "Ball Sparse Attention": ("bsa", {**BSA, "ball_size": 128, "attention_kwargs": SPARSE}),
    "Full attention": ("bsa", {**BSA, "attention_type": "global"}),
    "Erwin": ("erwin", {"c_in": 6, "c_out": 1, "dimensionality": 3, "c_hidden": [32, 64], "ball_sizes": [128, 128],
                        "enc_num_heads": [4, 8], "enc_depths": [2, 2], "strides": [4], "dec_num_heads": [4], "dec_depths": [2],
                        "rotate": 45, "mlp_ratio": 4, "mp_steps": 1, "neighbors": 8}),
    "Sequoia": ("sequoia", {"pos_enc": "none", "c_in": 6, "dimensionality": 3, "num_classes": 1, "transformer_dim": 64, "num_head": 4,
                            "head_dim": 16, "transformer_hidden_dim": 128, "num_layers": 4, "k": 8, "dropout_prob": 0.0}),
}
SHORT = {"flare": "FLARE", "bsa": "Ball Sparse Attention", "full": "Full attention", "erwin": "Erwin", "sequoia": "Sequoia"}
POINTS = [1900, 3800, 7600, 20000]  # of the test; training has the first two


def data_sets(points):
    """Returns folder: (arguments of airflow, numbers of points)."""
    return {
        "train": ("-seed 1000 -shapes 200", points[:1]),
        "large": ("-seed 1200 -shapes 60", points[1:2]),
        "watch": ("-seed 2000 -shapes 4", [points[0], points[2]]),
        "test": ("-seed 3000 -shapes 20", points[:3]),
        "test_large": ("-seed 3000 -shapes 5", points[3:]),
    }


def files(data, *folders):
    return [f"{folder}/cars_{n}.h5" for folder in folders for n in data[folder][1]]


DATA = data_sets(POINTS)


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


def config(family, network, train, epochs, rate, folder, validation=tuple(files(DATA, "watch"))):
    inputs = FEATURES if family == "flare" else ["x", "y", "z"] + FEATURES
    return f"""[model]
family = "{family}"
inputs = {toml(inputs)}
outputs = ["pressure_coefficient"]
network = {toml(network)}

[data]
train = {toml(train)}
validation = {toml(validation)}
normalize = false

[training]
epochs = {epochs}
seed = 1
learning_rate = {rate}
weight_decay = 0.01
schedule = "one_cycle"
warmup = 0.1
initial_divisor = 25
final_divisor = 100
max_grad_norm = 1

[options]
threads = 1

[output]
folder = "{folder}"
"""


class Tools:
    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder

    def run(self, program, *words):
        result = subprocess.run([os.path.join(self.programs, program), *words], capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{program} {' '.join(words)}: {result.stderr.strip() or result.stdout.strip()}")
        return result.stdout

    def report(self, *words):
        """Returns the numbers of a command that writes them as JSON."""
        path = os.path.join(self.folder, "report.json")
        self.run("surrogate", *words, "--threads", "1", "--json", path, "--overwrite")
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def train(self, path):
        """Trains by a configuration and returns the processor minutes."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.run("surrogate", "train", path, "--overwrite", "--quiet")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 60

    def error(self, model, data):
        """Returns the mean relative L2 error over the samples of a data set."""
        return self.report("evaluate", model, "--data", data)["outputs"][0]["relative_l2"]

    def prediction_seconds(self, model, sizes):
        """Returns the processor seconds of a plan and a run of one body, medians of three, by number of points."""
        text = self.run("airflow", "-sweep", "-model", model, "-seed", "3001", "-panels", "500", "-sweep_panels", "200",
                        "-sweep_points", ",".join(map(str, sizes)), "-surrogate_threads", "1")
        rows = [line.split() for line in text.splitlines() if line.split()[:1] == ["3001"]]
        return {n: float(row[4]) for n, row in zip(sizes, rows, strict=True)}

    def write_config(self, name, *arguments):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(config(*arguments))
        return path


def write_data(tools, data):
    for folder, (which, sizes) in data.items():
        missing = [n for n in sizes if not os.path.exists(f"{folder}/cars_{n}.h5")]
        if missing:
            print(f"writing {folder}", flush=True)
            tools.run("airflow", "-samples", folder, *which.split(), "-sample_points", ",".join(map(str, missing)))


def seconds_of_an_epoch(tools, family, network, data):
    """Returns the time of a step, measured on one body of each data set, times its bodies."""
    seconds = 0
    for folder in ("train", "large"):
        path = tools.write_config("probe.toml", family, network, files(data, folder), 1, 1e-3, os.path.join(tools.folder, "probe"),
                                  files(data, "watch"))
        text = tools.run("surrogate", "train", path, "--dry-run")
        os.remove(path)
        step = float(text.split("time of a step")[1].split()[0])
        seconds += step * int(data[folder][0].split()[-1])
    return seconds


def options_of(options, name):
    """Returns the options that the result of a family depends on."""
    length = {"epochs": options.epochs[name]} if options.epochs else {"minutes": options.minutes}
    return {**length, "rate": options.rate, "points": options.points}


def measure(tools, name, options):
    title, data = SHORT[name], data_sets(options.points)
    family, network = FAMILIES[title]
    if options.epochs:
        epochs = options.epochs[name]
    else:
        epochs = max(1, round(60 * options.minutes / seconds_of_an_epoch(tools, family, network, data)))
    folder = os.path.join(tools.folder, title.lower().replace(" ", "_"))
    path = tools.write_config(os.path.basename(folder) + ".toml", family, network, files(data, "train", "large"), epochs,
                              options.rate, folder, files(data, "watch"))
    print(f"{title}: {epochs} epochs", flush=True)
    model = os.path.join(folder, "last.safetensors")
    row = {"name": title, "options": options_of(options, name), "epochs": epochs, "minutes": tools.train(path), "sizes": {}}
    seconds = tools.prediction_seconds(model, options.points)
    for n, test in zip(options.points, files(data, "test", "test_large"), strict=True):
        memory = tools.report("bench", model, "--points", str(n), "--runs", "1")["workspace_bytes"]
        row["sizes"][n] = {"error": tools.error(model, test), "seconds": seconds[n], "bytes": memory}
    return row


def kept_result(path, expected):
    """Returns the result in a file, or None if there is no file."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        row = json.load(file)
    if row.get("options") != expected:
        sys.exit(f"compare_families.py: the result in {path} has the options {row.get('options')}, expected {expected}; "
                 "remove the file, or choose another --folder")
    return row


def table(rows, points):
    print("\n| family | training | " + " | ".join(f"{n:,} points" for n in points) + " |")
    print("| --- " * (2 + len(points)) + "|")
    for row in rows:
        cells = [f"{100 * one['error']:.1f} %, {one['seconds']:.2g} s, {one['bytes'] / 1e6:.2g} MB" for one in row["sizes"].values()]
        print(f"| {row['name']} | {row['minutes']:.1f} min, {row['epochs']} epochs | " + " | ".join(cells) + " |")


def epochs_of(text):
    """Reads 'flare=89,bsa=35', or '8' for all families."""
    if re.fullmatch(r"[1-9]\d*", text):
        return dict.fromkeys(SHORT, int(text))
    if not re.fullmatch(r"\w+=[1-9]\d*(,\w+=[1-9]\d*)*", text):
        raise argparse.ArgumentTypeError(f"'{text}', expected numbers such as flare=89,bsa=35")
    return {name: int(number) for name, number in (part.split("=") for part in text.split(","))}


def points_of(text):
    points = [int(number) for number in re.findall(r"\d+", text)]
    if len(points) != len(POINTS) or points != sorted(set(points)):
        raise argparse.ArgumentTypeError(f"'{text}', expected {len(POINTS)} rising numbers")
    return points


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--programs", default=os.path.join(here, "../../build/bin"), help="folder of surrogate and airflow")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, default=2, help="processor minutes of training per family, as epochs allow")
    length.add_argument("--epochs", type=epochs_of, metavar="FAMILY=N,..", help="epochs of each family, or one number")
    parser.add_argument("--rate", type=float, default=2e-3, help="highest learning rate")
    parser.add_argument("--families", default=",".join(SHORT), help="those to train, in this order (default: all)")
    parser.add_argument("--points", type=points_of, default=POINTS, metavar="A,B,C,D",
                        help="points of the test bodies, ascending (default: 1900,3800,7600,20000); training has A and B")
    parser.add_argument("--folder", default="families", help="of models and results")
    options = parser.parse_args()
    names = options.families.split(",")
    for option, given in (("--families", names), ("--epochs", options.epochs or ())):
        for name in given:
            if name not in SHORT:
                parser.error(f"{option} has '{name}', expected some of {', '.join(SHORT)}")
    for name in names:
        if options.epochs and name not in options.epochs:
            parser.error(f"--epochs has no '{name}', expected all of {', '.join(names)}")
    results = {name: os.path.join(options.folder, name + ".json") for name in names}
    rows = {name: kept_result(results[name], options_of(options, name)) for name in names}
    os.makedirs(options.folder, exist_ok=True)
    tools = Tools(options.programs, options.folder)
    write_data(tools, data_sets(options.points))
    for name in names:
        if rows[name] is None:
            rows[name] = measure(tools, name, options)
            with open(results[name], "w", encoding="utf-8") as file:
                json.dump(rows[name], file, indent=1)
    table(rows.values(), options.points)


if __name__ == "__main__":
    main()
