#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figure 13 of the paper on FLARE: eigenvalues of the mixing, independent and shared latents.

    python3 spectra.py BIN INDEPENDENT.safetensors SHARED.safetensors [FOLDER]

runs `surrogate spectrum` of BIN on the check case of each model (a cell of the test set) and writes
spectra.png and spectra.csv (second eigenvalue, number above 1e-6 and effective rank: means over
heads) into FOLDER, by default beside this file. Needs numpy, matplotlib.
"""

import csv
import os
import subprocess
import sys
import tempfile

import matplotlib
import numpy

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

here = os.path.dirname(os.path.abspath(__file__))


def spectra_of(model):
    """Returns the eigenvalues [block, head, number]."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "spectra.csv")
        program = os.path.join(sys.argv[1], "surrogate")
        command = [program, "spectrum", model, "--csv", path]
        subprocess.run(command, check=True, capture_output=True)
        table = numpy.loadtxt(path, delimiter=",", skiprows=1)
    blocks, heads = (int(column.max()) + 1 for column in table[:, 1:3].T)
    return table[:, 4].reshape(blocks, heads, -1)


def main():
    folder = sys.argv[4] if len(sys.argv) > 4 else here
    spectra = {
        "independent latents": spectra_of(sys.argv[2]),
        "shared latents": spectra_of(sys.argv[3]),
    }
    blocks = len(next(iter(spectra.values())))
    figure, panels = plt.subplots(2, blocks, figsize=(14, 5), sharex=True, sharey=True)
    rows = []
    for panel_row, (name, values) in zip(panels, spectra.items()):
        panel_row[0].set_ylabel(f"{name}\neigenvalue")
        for block, panel in enumerate(panel_row):
            number = 1 + numpy.arange(values.shape[2])
            panel.semilogy(number, numpy.maximum(values[block].T, 1e-12), linewidth=0.8)
            panel.set_ylim(1e-9, 2)
            if name == "independent latents":
                panel.set_title(f"block {block + 1}")
            fraction = values[block] / values[block].sum(1, keepdims=True)
            entropy = -(fraction * numpy.log(numpy.maximum(fraction, 1e-300))).sum(1)
            above = (values[block] > 1e-6).sum(1)
            second, rank = values[block, :, 1].mean(), numpy.exp(entropy).mean()
            heads = f"{above.min()} to {above.max()}"
            rows.append(
                (name, block + 1, f"{second:.3f}", f"{above.mean():.1f}", f"{rank:.2f}", heads)
            )
    figure.supxlabel("number of the eigenvalue; one curve per head", fontsize=10)
    figure.tight_layout()
    figure.savefig(os.path.join(folder, "spectra.png"), dpi=100)
    header = ("latents", "block", "second eigenvalue", "above 1e-6", "effective rank")
    with open(os.path.join(folder, "spectra.csv"), "w", newline="") as file:
        csv.writer(file).writerows([(*header, "above 1e-6, of heads"), *rows])
    for row in rows:
        print(", ".join(map(str, row)))


if __name__ == "__main__":
    main()
