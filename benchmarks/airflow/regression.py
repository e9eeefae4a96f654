#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two cheap surrogates of examples/airflow without a network, trained on the same bodies as the families of compare_families.py.

    python3 regression.py BIN DATA [--trees 300]

BIN has the program airflow_shapes, DATA the data sets that compare_families.py writes. Prints the mean relative L2 error on bodies
that training did not have and the processor seconds of a prediction on one core. Needs h5py, scipy and scikit-learn.

- boosted trees: the pressure at a point from its six features and the 15 parameters of its body;
- Kriging: fields on one set of directions, 40 principal components of them, each a Gaussian process of the 15 parameters.
"""

import argparse
import os
import subprocess
import time

import h5py
import numpy
from scipy.spatial import cKDTree
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

FEATURES = ("along", "across", "height", "normal.along", "normal.across", "normal.up")
N_PARAMETER, N_COMPONENT = 15, 40
TRAIN = (("train/cars_1900.h5", 1000, 200, 1900), ("large/cars_3800.h5", 1200, 60, 3800))
TEST = tuple((f"test/cars_{n}.h5", 3000, 20, n) for n in (1900, 3800, 7600)) + (("test_large/cars_20000.h5", 3000, 5, 20000),)


class Body:
    def __init__(self, parameters, features, direction, pressure):
        self.parameters, self.features, self.direction, self.pressure = parameters, features, direction, pressure

    def error(self, predicted):
        return numpy.linalg.norm(predicted - self.pressure) / numpy.linalg.norm(self.pressure)

    def rows(self):
        return numpy.hstack([self.features, numpy.tile(self.parameters, (len(self.features), 1))])


def read(options, path, seed, n_body, n_point):
    """Returns the bodies of a data set, with the parameters and directions that airflow_shapes writes."""
    program = os.path.join(options.bin, "airflow_shapes")
    shapes = numpy.frombuffer(subprocess.run([program, str(seed), str(n_body), str(n_point)], capture_output=True, check=True).stdout)
    bodies = []
    with h5py.File(os.path.join(options.data, path)) as file:
        offset, pressure = file["offset"][:], file["pressure_coefficient"][:]
        features = numpy.stack([file[name][:] for name in FEATURES], 1)
        place = numpy.stack([file[axis][:] for axis in "xyz"], 1)
    for begin, end in zip(offset[:n_body], offset[1:]):
        parameters, n = shapes[:N_PARAMETER], int(shapes[N_PARAMETER])
        points, shapes = shapes[N_PARAMETER + 1 :][: 6 * n].reshape(n, 6), shapes[N_PARAMETER + 1 + 6 * n :]
        distance, point = cKDTree(points[:, 3:]).query(place[begin:end])
        if distance.max() > 1e-5:
            raise SystemExit(f"{path} has other bodies than seeds {seed} and following")
        bodies.append(Body(parameters, features[begin:end], points[point, :3], pressure[begin:end]))
    return bodies


class Trees:
    def __init__(self, bodies, n_tree):
        rows, pressure = numpy.vstack([body.rows() for body in bodies]), numpy.concatenate([body.pressure for body in bodies])
        self.model = HistGradientBoostingRegressor(max_iter=n_tree, max_leaf_nodes=63, early_stopping=False).fit(rows, pressure)

    def predict(self, body):
        return self.model.predict(body.rows())


def interpolate(source, values, target):
    distance, near = cKDTree(source).query(target, 4)
    weight = 1 / numpy.maximum(distance, 1e-9) ** 2
    return (weight * values[near]).sum(1) / weight.sum(1)


class Kriging:
    def __init__(self, bodies):
        self.direction = bodies[-1].direction
        fields = numpy.stack([interpolate(body.direction, body.pressure, self.direction) for body in bodies])
        self.mean = fields.mean(0)
        amplitude, self.size, component = numpy.linalg.svd(fields - self.mean, full_matrices=False)
        self.component = component[:N_COMPONENT]
        parameters = numpy.stack([body.parameters for body in bodies])
        self.shift, self.scale = parameters.mean(0), parameters.std(0)
        kernel = ConstantKernel() * RBF(numpy.full(N_PARAMETER, 3.0), (0.3, 1e3)) + WhiteKernel(1e-3)
        self.process = GaussianProcessRegressor(kernel, normalize_y=True)
        self.process.fit((parameters - self.shift) / self.scale, amplitude[:, :N_COMPONENT])

    def predict(self, body):
        amplitude = self.process.predict(((body.parameters - self.shift) / self.scale)[None])[0] * self.size[:N_COMPONENT]
        return interpolate(self.direction, self.mean + amplitude @ self.component, body.direction)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin")
    parser.add_argument("data")
    parser.add_argument("--trees", type=int, default=300)
    options = parser.parse_args()
    train = [body for which in TRAIN for body in read(options, *which)]
    test = {which[-1]: read(options, *which) for which in TEST}
    for name, make in (("Kriging", Kriging), (f"{options.trees} boosted trees", lambda bodies: Trees(bodies, options.trees))):
        begin = time.process_time()
        model = make(train)
        print(f"{name}: training {time.process_time() - begin:.0f} s")
        for n, bodies in test.items():
            begin = time.process_time()
            error = numpy.mean([body.error(model.predict(body)) for body in bodies])
            print(f"  {n:6} points: {100 * error:.1f} %, {(time.process_time() - begin) / len(bodies):.2g} s")


if __name__ == "__main__":
    main()
