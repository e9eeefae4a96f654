#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds the mobility that explains a measured pressure, by L-BFGS with derivatives of the model.

python3 invert.py darcy_flow.safetensors
"""

import sys

import numpy
from scipy.optimize import minimize

import surrogate

n = 24
centers = (numpy.arange(n) + 0.5) / n
x = numpy.stack(numpy.meshgrid(centers, centers, indexing="ij"), axis=-1).reshape(-1, 2)
truth = numpy.where(numpy.hypot(*(x - [0.4, 0.6]).T) < 0.2, 12.0, 3.0)

plan = surrogate.Plan.open(sys.argv[1], x, gradients="inputs")
measured = plan.predict(mobility=truth)["pressure"]
mobility = plan.bind_input("mobility", numpy.full(len(x), 5.0), "m^2/(Pa s)")
pressure = plan.bind_output("pressure")
w, g = plan.bind_output_gradient("pressure"), plan.bind_input_gradient("mobility")
scale = 1 / (measured @ measured)


def misfit(guess):
    """Returns L = scale |pressure - measured|^2 and dL/dmobility."""
    mobility[:] = guess
    plan.run()
    w[:] = 2 * scale * (pressure - measured)
    plan.run_backward()
    return scale * ((pressure - measured) ** 2).sum(), g.copy()


first = misfit(mobility.copy())[0]
found = minimize(misfit, mobility.copy(), jac=True, bounds=[(3, 12)] * len(x), method="L-BFGS-B",
                 options={"maxiter": 60})  # fmt: skip
print(f"misfit {first:.2g} -> {found.fun:.2g} after {found.nit} steps and {found.nfev} runs")
is_drop = found.x > 7.5
print(f"{100 * (is_drop == (truth > 7.5)).mean():.0f} % of the cells are on the right side")
