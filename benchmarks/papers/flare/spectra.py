#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figure 13 of the paper on FLARE: eigenvalues of the mixing of two models, with independent and with shared latents.

    python3 spectra.py BIN INDEPENDENT.safetensors SHARED.safetensors [FOLDER]

runs `surrogate spectrum` of BIN on the check case of each model (a cell of the test set) and writes spectra.png and spectra.csv (second
eigenvalue, number above 1e-6 and effective rank: means over heads) into FOLDER, by default beside this file. Needs numpy, matplotlib.
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
        subprocess.run([program, "spectrum", model, "--csv", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        table = numpy.loadtxt(path, delimiter=",", skiprows=1)
    blocks, heads = (int(column.max()) + 1 for column in table[:, 1:3].T)
    return table[:, 4].reshape(blocks, heads, -1)


def main():
    folder = sys.argv[4] if len(sys.argv) > 4 else here
    spectra = {"independent latents": spectra_of(sys.argv[2]), "shared latents": spectra_of(sys.argv[3])}
    blocks = len(next(iter(spectra.values())))
    figure, panels = plt.subplots(2, blocks, figsize=(14, 5), sharex=True, sharey=True)
    rows = []
    for panel_row, (name, values) in zip(panels, spectra.items()):
        panel_row[0].set_ylabel(f"{name}\neigenvalue")
        for block, panel in enumerate(panel_row):
            panel.semilogy(1 + numpy.arange(values.shape[2]), numpy.maximum(values[block].T, 1e-12), linewidth=0.8)
            panel.set(ylim=(1e-9, 2), title=f"block {block + 1}" if name == "independent latents" else "")
            fraction = values[block] / values[block].sum(1, keepdims=True)
            entropy = -(fraction * numpy.log(numpy.maximum(fraction, 1e-300))).sum(1)
            above = (values[block] > 1e-6).sum(1)
            rows.append((name, block + 1, f"{values[block, :, 1].mean():.3f}", f"{above.mean():.1f}", f"{numpy.exp(entropy).mean():.2f}",
                         f"{above.min()} to {above.max()}"))  # fmt: skip
    figure.supxlabel("number of the eigenvalue; one curve per head", fontsize=10)
    figure.tight_layout()
    figure.savefig(os.path.join(folder, "spectra.png"), dpi=100)
    header = ("latents", "block", "second eigenvalue", "above 1e-6", "effective rank", "above 1e-6, of heads")
    with open(os.path.join(folder, "spectra.csv"), "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    for row in rows:
        print(", ".join(map(str, row)))


if __name__ == "__main__":
    main()
