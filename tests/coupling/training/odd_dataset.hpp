// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "coupling/hdf5/handle.hpp"

namespace surrogate::test {

/// A variable of a data set that another program may have written, in any form that HDF5 has.
struct OddVariable {
    std::string name;
    std::vector<hsize_t> shape;     ///< empty: a scalar
    std::vector<std::string> axes;  ///< empty: the file names none; its own name: it is an axis
    std::string axis = "";          ///< attribute of that name
    hid_t type = H5T_NATIVE_DOUBLE;
    double step = 1;                                ///< number i is i * step
    std::function<void(hid_t)> how = [](hid_t) {};  ///< sets properties of the data set
    bool is_written = true;
    std::string unit = "1";
    bool is_bare_axis = false;  ///< an axis without numbers, as netCDF writes it
};

/// A file of HDF5 with the attributes of a data set, written by HDF5 itself.
class OddDataset {
public:
    std::vector<OddVariable> variables;
    std::string grid;

    /// u(sample, time, x) of 2 samples, 3 times and 4 points of a line.
    static OddDataset series() {
        return {{{"sample", {2}, {"sample"}},
                 {"time", {3}, {"time"}},
                 {"x", {4}, {"x"}, "X"},
                 {"u", {2, 3, 4}, {"sample", "time", "x"}}},
                ""};
    }

    OddVariable& operator[](const std::string& name) {
        for (OddVariable& variable : variables)
            if (variable.name == name) return variable;
        throw std::runtime_error("no variable " + name);
    }

    void write(const std::string& path) const {
        const h5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                              H5Fclose, "make a file");
        h5::put(file, "surrogate_dataset", int64_t{1});
        if (!grid.empty()) h5::put(file, "grid", grid);
        for (const OddVariable& variable : variables) write(file, variable);
    }

private:
    static void write(hid_t file, const OddVariable& variable) {
        const int n_axis = static_cast<int>(variable.shape.size());
        const h5::Handle space(n_axis == 0
                                   ? H5Screate(H5S_SCALAR)
                                   : H5Screate_simple(n_axis, variable.shape.data(), nullptr),
                               H5Sclose, "make a data space");
        const h5::Handle creation = h5::property_list(H5P_DATASET_CREATE);
        variable.how(creation);
        const h5::Handle dataset(H5Dcreate2(file, variable.name.c_str(), variable.type, space,
                                            H5P_DEFAULT, creation, H5P_DEFAULT),
                                 H5Dclose, "make a data set");
        h5::put(dataset, "units", variable.unit);
        if (!variable.axis.empty()) h5::put(dataset, "axis", variable.axis);
        const bool is_list = variable.axes == std::vector<std::string>{variable.name};
        if (is_list) h5::put(dataset, "CLASS", std::string("DIMENSION_SCALE"));
        if (variable.is_bare_axis)
            h5::put(dataset, "NAME",
                    std::string("This is a netCDF dimension but not a netCDF variable.         2"));
        if (!is_list && !variable.axes.empty()) put_axes(file, dataset, variable.axes);
        if (!variable.is_written || H5Tget_class(variable.type) == H5T_STRING) return;
        std::vector<double> numbers(static_cast<size_t>(H5Sget_simple_extent_npoints(space)));
        for (size_t i = 0; i < numbers.size(); ++i)
            numbers[i] = static_cast<double>(i) * variable.step;
        h5::check(
            H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()),
            "write numbers");
    }

    static void put_axes(hid_t file, hid_t dataset, const std::vector<std::string>& axes) {
        std::vector<hobj_ref_t> references(axes.size());
        std::vector<hvl_t> list;
        for (size_t i = 0; i < axes.size(); ++i) {
            h5::check(H5Rcreate(&references[i], file, axes[i].c_str(), H5R_OBJECT, -1), "refer");
            list.push_back({1, &references[i]});
        }
        const hsize_t n = axes.size();
        const h5::Handle type(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose, "make a type");
        const h5::Handle space(H5Screate_simple(1, &n, nullptr), H5Sclose, "make a data space");
        const h5::Handle attribute(
            H5Acreate2(dataset, "DIMENSION_LIST", type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
            "make an attribute");
        h5::check(H5Awrite(attribute, type, list.data()), "write axes");
    }
};

}  // namespace surrogate::test
