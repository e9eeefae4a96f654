# SPDX-License-Identifier: Apache-2.0
"""readers_test.py <h5py | netCDF4 | xarray> <program dataset_sample> <folder>: other people's readers open data sets."""

import importlib
import os
import subprocess
import sys


class H5py:
    """Shapes, axes, attributes and numbers of a variable by h5py."""

    def __init__(self, path):
        import h5py

        self.file = h5py.File(path)

    def attribute(self, name):
        value = self.file.attrs[name]
        return value.decode() if isinstance(value, bytes) else value

    def axes(self, name):
        return tuple(axis[0].name.lstrip("/") for axis in self.file[name].dims)

    def values(self, name):
        return self.file[name][()]

    def unit(self, name):
        unit = self.file[name].attrs["units"]
        return unit.decode() if isinstance(unit, bytes) else unit


class NetCDF4:
    def __init__(self, path):
        import netCDF4

        self.file = netCDF4.Dataset(path)

    def attribute(self, name):
        return getattr(self.file, name)

    def axes(self, name):
        return self.file[name].dimensions

    def values(self, name):
        return self.file[name][...].filled()

    def unit(self, name):
        return self.file[name].units


class Xarray:
    def __init__(self, path):
        import xarray

        self.file = xarray.open_dataset(path, decode_times=False)

    def attribute(self, name):
        return self.file.attrs[name]

    def axes(self, name):
        return self.file[name].dims

    def values(self, name):
        return self.file[name].values

    def unit(self, name):
        return self.file[name].attrs["units"]


def main(reader, program, folder):
    try:
        importlib.import_module(reader)
        import numpy
    except ImportError as missing:
        print(f"SKIPPED: {missing}")
        return
    os.makedirs(folder, exist_ok=True)
    subprocess.run([program, folder], check=True)
    read = {"h5py": H5py, "netCDF4": NetCDF4, "xarray": Xarray}[reader]

    lattice = read(folder + "/structured_grid.h5")
    assert lattice.attribute("Conventions") == "CF-1.8"
    assert lattice.attribute("surrogate_dataset") == 1
    assert lattice.attribute("title") == "a structured grid"
    assert lattice.axes("pressure") == ("sample", "x", "y"), lattice.axes("pressure")
    assert lattice.unit("pressure") == "Pa"
    assert numpy.array_equal(lattice.values("pressure"), numpy.arange(60.0).reshape(3, 4, 5))
    assert numpy.array_equal(lattice.values("y"), numpy.arange(5.0))

    series = read(folder + "/series.h5")
    assert series.attribute("grid") == "legendre-gauss"
    assert series.axes("vorticity") == ("sample", "time", "lat", "lon"), series.axes("vorticity")
    assert series.unit("lat") == "degrees_north"
    assert series.values("vorticity").dtype == numpy.float32
    assert numpy.array_equal(series.values("vorticity"), numpy.arange(192.0).reshape(2, 3, 4, 8))

    clouds = read(folder + "/clouds.h5")
    assert clouds.axes("mass") == ("row",)
    assert numpy.array_equal(clouds.values("offset"), [0, 3, 7])
    assert numpy.array_equal(clouds.values("x"), numpy.arange(7.0))
    if reader == "xarray":
        assert set(clouds.file["mass"].coords) == {"x"}
    print(f"{reader} reads all")


if __name__ == "__main__":
    main(*sys.argv[1:])
