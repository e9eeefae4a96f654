#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps the shallow water emulator on the ranks of mpi4py, each of which holds rows of the sphere.

mpirun -n 2 python3 -m mpi4py loop.py shallow_water.safetensors
"""

import sys

import numpy
from mpi4py import MPI

import surrogate

comm = MPI.COMM_WORLD
context = surrogate.Context(comm, reproducible=True)
model = surrogate.Model(context, sys.argv[1])
grid, n_lat, n_lon, _ = model.input_domain
block = surrogate.partition_sphere("contiguous", n_lat, n_lon, comm.rank, comm.size)
rows = slice(block[0], block[0] + block[1])
own = {"first_lat": block[0], "n_lat_local": block[1]}
domain = surrogate.Domain.sphere(context, grid, n_lat, n_lon, **own)

latitude, longitude, area = surrogate.sphere_nodes(grid, n_lat, n_lon)
hill = 500 * numpy.exp(-(((latitude[rows, None] - 40) / 15) ** 2 + ((longitude - 180) / 20) ** 2))
state = {field.name: numpy.full(hill.shape, field.mean) for field in model.inputs}
state["geopotential"] += hill  # m^2/s^2

loop = surrogate.TimeLoop(surrogate.Plan(model, domain), step_s=3600, distance="off")
for field in model.inputs:
    loop.bind(field.name, state[field.name], field.unit)  # advanced in place
for _ in range(4):
    outcome = loop.step(3 * 3600.0)  # three evaluations
    mean = context.reduce("sum", (area[rows, None] * state["geopotential"]).sum())
    if comm.rank == 0:
        print(f"{loop.time / 3600:.0f} h: {outcome.name.lower()}, mean {mean:.0f} m^2/s^2")
