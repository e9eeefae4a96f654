#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains one model of each family on the same bodies for the same time, and prints a table.

    python3 examples/airflow/compare_families.py [--minutes 2] [--families flare,bsa,...]

Writes the data sets that the current folder does not have yet, with the program airflow, and trains
each family with one thread. The number of epochs follows from a measured step. Minutes are
processor minutes. Errors are means over bodies that training did not have. Seconds are processor
seconds of planning and predicting a body with one thread, by `airflow -sweep`. Memory is the
workspace of the plan, by `surrogate bench`.
Families with a result in the folder are not trained again. Needs no Python package.
"""
import argparse
import json
import os
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
# folder: arguments of airflow, and the numbers of points
DATA = {
    "train": ("-seed 1000 -shapes 200", (1900,)),
    "large": ("-seed 1200 -shapes 60", (3800,)),
    "watch": ("-seed 2000 -shapes 4", (1900, 7600)),
    "test": ("-seed 3000 -shapes 20", (1900, 3800, 7600)),
    "test_large": ("-seed 3000 -shapes 5", (20000,)),
}
TRAIN = ["train/cars_1900.h5", "large/cars_3800.h5"]
TEST = {1900: "test/cars_1900.h5", 3800: "test/cars_3800.h5", 7600: "test/cars_7600.h5", 20000: "test_large/cars_20000.h5"}


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


def config(family, network, train, epochs, rate, folder):
    inputs = FEATURES if family == "flare" else ["x", "y", "z"] + FEATURES
    return f"""[model]
family = "{family}"
inputs = {toml(inputs)}
outputs = ["pressure_coefficient"]
network = {toml(network)}

[data]
train = {toml(train)}
validation = ["watch/cars_1900.h5", "watch/cars_7600.h5"]
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


def seconds_of_an_epoch(tools, family, network):
    """Returns the time of a step, measured on one body of each data set, times its bodies."""
    seconds = 0
    for data in TRAIN:
        path = tools.write_config("probe.toml", family, network, [data], 1, 1e-3, os.path.join(tools.folder, "probe"))
        text = tools.run("surrogate", "train", path, "--dry-run")
        step = float(text.split("time of a step")[1].split()[0])
        seconds += step * int(DATA[data.split("/")[0]][0].split()[-1])
    return seconds


def measure(tools, name, options):
    family, network = FAMILIES[name]
    epochs = options.epochs or max(1, round(60 * options.minutes / seconds_of_an_epoch(tools, family, network)))
    folder = os.path.join(tools.folder, name.lower().replace(" ", "_"))
    path = tools.write_config(os.path.basename(folder) + ".toml", family, network, TRAIN, epochs, options.rate, folder)
    print(f"{name}: {epochs} epochs", flush=True)
    model = os.path.join(folder, "last.safetensors")
    row = {"name": name, "epochs": epochs, "minutes": tools.train(path), "sizes": {}}
    seconds = tools.prediction_seconds(model, TEST)
    for n, data in TEST.items():
        memory = tools.report("bench", model, "--points", str(n), "--runs", "1")["workspace_bytes"]
        row["sizes"][n] = {"error": tools.error(model, data), "seconds": seconds[n], "bytes": memory}
    return row


def table(rows):
    print("\n| family | training | " + " | ".join(f"{n:,} points" for n in TEST) + " |")
    print("| --- " * (2 + len(TEST)) + "|")
    for row in rows:
        cells = [f"{100 * one['error']:.1f} %, {one['seconds']:.2g} s, {one['bytes'] / 1e6:.2g} MB" for one in row["sizes"].values()]
        print(f"| {row['name']} | {row['minutes']:.1f} min, {row['epochs']} epochs | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--programs", default=os.path.join(here, "../../build/bin"), help="folder of surrogate and airflow")
    parser.add_argument("--minutes", type=float, default=2, help="processor minutes of training per family, as epochs allow")
    parser.add_argument("--epochs", type=int, help="instead of --minutes, for example on a busy machine")
    parser.add_argument("--rate", type=float, default=2e-3, help="highest learning rate")
    parser.add_argument("--families", default=",".join(SHORT), help="those to train, in this order (default: all)")
    parser.add_argument("--folder", default="families", help="of models and results")
    options = parser.parse_args()
    names = options.families.split(",")
    for name in names:
        if name not in SHORT:
            parser.error(f"--families has '{name}', expected some of {', '.join(SHORT)}")
    os.makedirs(options.folder, exist_ok=True)
    tools = Tools(options.programs, options.folder)
    write_data(tools, DATA)
    for name in names:
        result = os.path.join(options.folder, name + ".json")
        if not os.path.exists(result):
            row = measure(tools, SHORT[name], options)
            with open(result, "w", encoding="utf-8") as file:
                json.dump(row, file, indent=1)
    results = [os.path.join(options.folder, name + ".json") for name in SHORT]
    rows = []
    for result in results:
        if os.path.exists(result):
            with open(result, encoding="utf-8") as file:
                rows.append(json.load(file))
    table(rows)


if __name__ == "__main__":
    main()
