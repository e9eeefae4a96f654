#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a pass of a fast multipole method over the panels of examples/airflow, as a rival of its dense solver.

    OMP_NUM_THREADS=1 python3 benchmarks/airflow/multipoles.py [--panels 3000,10000,20000] [--rounds 5]

A pass computes the velocities at N / 2 panels (half of the body is unknown) from point sources in all N panels and their images in the
ground, to three digits. Panels are points of an ellipsoid of the size of a car. A solve takes a pass for each iteration of GMRES (7 to
1e-4) and one for the velocities; integrals over near panels come on top. Needs numpy and fmm3dpy (FMM3D, pip install fmm3dpy).
"""
import argparse
import statistics
import time

import fmm3dpy
import numpy


def panels(n):
    """Returns n points [3, n], evenly spread over an ellipsoid of 4.2 x 1.8 x 1.4 m that stands 0.2 m above the ground."""
    i = numpy.arange(n) + 0.5
    polar, turn = numpy.arccos(1 - 2 * i / n), numpy.pi * (1 + 5**0.5) * i
    unit = numpy.array([numpy.cos(turn) * numpy.sin(polar), numpy.sin(turn) * numpy.sin(polar), numpy.cos(polar)])
    return unit * [[2.1], [0.9], [0.7]] + [[0], [0], [0.9]]


def seconds_of_a_pass(n, rounds):
    body = panels(n)
    image = body * [[1], [1], [-1]]
    unknown = body[:, body[1] > 0]
    charges = numpy.ones(2 * n)
    sources = numpy.ascontiguousarray(numpy.hstack([body, image]))
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        fmm3dpy.lfmm3d(eps=1e-3, sources=sources, charges=charges, targets=unknown, pgt=2)
        times.append(time.process_time() - begin)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--panels", default="3000,10000,20000")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for n in map(int, options.panels.split(",")):
        seconds = seconds_of_a_pass(n, options.rounds)
        print(f"{n:6} panels: a pass {seconds:.3f} s, 8 passes {8 * seconds:.2f} processor seconds")


if __name__ == "__main__":
    main()
