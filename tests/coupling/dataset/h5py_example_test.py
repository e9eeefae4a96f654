# SPDX-License-Identifier: Apache-2.0
"""h5py_example_test.py <how-to/prepare-data.md> <program surrogate> <folder>: the page's example of writing with h5py makes a data set that
`surrogate train` reads. Fields that the program does not take for fields are repaired by the line of its error."""

import os
import re
import subprocess
import sys

CONFIGURATION = """[model]
family = "flare"
inputs = ["x", "y", "source", "conductivity"]
outputs = ["temperature"]
network = { in_dim = 4, out_dim = 1, channel_dim = 16, num_blocks = 1, num_heads = 2, num_latents = 4 }
[data]
train = "plate.h5"
validation = 0.25
[training]
epochs = 1
[options]
threads = 1
[output]
folder = "out"
"""


def example(page):
    """Returns the first block of Python below the heading."""
    with open(page, encoding="utf-8") as file:
        section = file.read().split("## Writing with h5py\n")[1]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1)


def train(program):
    done = subprocess.run([program, "train", "t.toml", "--dry-run"], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def rejected(program, *words):
    status, text = train(program)
    assert status == 2, text
    for word in words:
        assert word in text, (word, text)
    return re.search(r"h5py: (.*) \(see how-to/prepare-data.md", text).group(1)


def main(page, program, folder):
    try:
        import h5py
        import numpy
    except ImportError as missing:
        print(f"SKIPPED: {missing}")
        return
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    with open("t.toml", "w", encoding="utf-8") as file:
        file.write(CONFIGURATION)
    names = {}
    exec(compile(example(page), page, "exec"), names)  # the page's own code
    status, text = train(program)
    assert status == 0, text

    def change(values, axes, name="source"):
        with h5py.File("plate.h5", "a") as f:
            del f[name]
            f[name] = values
            f[name].attrs["units"] = "W/m^3"
            for i, axis in enumerate(axes):
                f[name].dims[i].attach_scale(f[axis])

    def repair(line, values, name="source"):
        with h5py.File("plate.h5", "a") as f:
            if line.startswith(f"f['{name}'] ="):
                del f[name]
            exec(line, {"f": f, "values": values, "numpy": numpy})
            f[name].attrs["units"] = "W/m^3"

    values = names["source"]
    attach = "f['source'].dims[i].attach_scale(f[axis])"
    change(values, ())
    repair(rejected(program, "'source' has the shape (8, 30) and no axes", attach), values)
    assert train(program)[0] == 0
    change(values.T, ("point", "sample"))
    repair(rejected(program, "'source' has its axes in the order (point, sample)"), values.T)
    repair(rejected(program, "'source' has the shape (8, 30) and no axes", attach), values)
    assert train(program)[0] == 0
    change(values[:, 0], ("sample",))  # an input may be one number per sample, a target of this network not
    assert train(program)[0] == 0
    change(values, ("sample", "point"))
    values, name = names["temperature"], "temperature"
    change(values[:, 0], ("sample",), name)
    repair(rejected(program, "'temperature' in data set 'plate.h5' has one number per sample"), values[:, 0], name)
    repair(rejected(program, attach.replace("source", name)), values, name)
    assert train(program)[0] == 0
    print("the example is read, and repairs work")


if __name__ == "__main__":
    main(*sys.argv[1:])
