#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts the pressure of two fluids in a porous square and plots it.

python3 predict.py darcy_flow.safetensors pressure.png
"""

import sys

import matplotlib.pyplot as plt
import numpy

import surrogate

n = 40
centers = (numpy.arange(n) + 0.5) / n
x = numpy.stack(numpy.meshgrid(centers, centers, indexing="ij"), axis=-1).reshape(-1, 2)
is_drop = numpy.hypot(*(x - 0.5).T) < 0.25
mobility = numpy.where(is_drop, 12.0, 3.0)  # m^2/(Pa s)

with surrogate.Plan.open(sys.argv[1], x) as plan:
    pressure = plan.predict(mobility=mobility)["pressure"]

center = pressure @ x / pressure.sum()
print(f"{pressure.min():.3g} .. {pressure.max():.3g} Pa, center ({center[0]:.4f}, {center[1]:.4f})")
plt.imshow(pressure.reshape(n, n).T, origin="lower", extent=(0, 1, 0, 1))
plt.colorbar(label="pressure in Pa")
plt.savefig(sys.argv[2])
