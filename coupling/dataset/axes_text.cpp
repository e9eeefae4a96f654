// SPDX-License-Identifier: Apache-2.0
#include "coupling/dataset/axes_text.hpp"

#include <algorithm>

#include "coupling/hdf5/own_storage.hpp"

namespace surrogate::dataset {

namespace {

using Names = std::vector<std::string>;

/// Returns the line of h5py that attaches a variable to its axes.
std::string attach_line(const std::string& name, const Names& axes) {
    std::string list;
    for (const std::string& axis : axes) list += "'" + axis + "', ";
    if (axes.size() > 1) list.resize(list.size() - 2);
    return "h5py: for i, axis in enumerate((" + list + ")): f['" + name +
           "'].dims[i].attach_scale(f[axis])";
}

bool is_permutation_of(std::vector<int64_t> found, std::vector<int64_t> expected) {
    if (found == expected) return false;
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    return found == expected;
}

/// Returns the order of axes that transposes `found` to `expected`, for numpy.transpose.
std::string transposed(const std::string& name, const Names& found, const Names& expected) {
    std::string order;
    for (const std::string& axis : expected) {
        const auto at = std::find(found.begin(), found.end(), axis);
        order += (order.empty() ? "" : ", ") + std::to_string(at - found.begin());
    }
    return "h5py: f['" + name + "'] = values.transpose(" + order + ")";
}

}  // namespace

std::string axes_text(const Names& axes) {
    std::string text;
    for (const std::string& axis : axes) text += (text.empty() ? "" : ", ") + axis;
    return "(" + text + ")";
}

std::string wrong_axes(const StoredVariable& variable, const Names& expected,
                       const std::vector<int64_t>& extents) {
    const std::string& name = variable.name;
    const std::string shape = h5::shape_text(variable.shape);
    const std::string asked = ", expected " + axes_text(expected) + "; ";
    const std::string page = " (see how-to/prepare-data.md, \"Writing with h5py\")";
    Names found = variable.axes;
    std::sort(found.begin(), found.end());
    Names sorted = expected;
    std::sort(sorted.begin(), sorted.end());
    if (found == sorted)
        return "'" + name + "' has its axes in the order " + axes_text(variable.axes) + asked +
               transposed(name, variable.axes, expected) + page;
    const bool is_per_sample =
        variable.axes == Names{"sample"} ||
        (variable.axes.empty() && variable.shape.size() == 1 && expected.size() > 1 &&
         expected[0] == "sample" && variable.shape[0] == extents[0]);
    if (is_per_sample) {
        std::string repeat = "numpy.repeat(values, numpy.diff(f['offset']))";
        if (expected[0] == "sample") {
            std::string place = ":", shown;
            for (size_t i = 1; i < expected.size(); ++i) place += ", None";
            for (const int64_t extent : extents)
                shown += (shown.empty() ? "" : ", ") + std::to_string(extent);
            repeat = "numpy.broadcast_to(values[" + place + "], (" + shown + "))";
        }
        return "'" + name + "' has one number per sample, expected one per point, " +
               axes_text(expected) + "; h5py: f['" + name + "'] = " + repeat + page;
    }
    if (!variable.axes.empty())
        return "'" + name + "' has the axes " + axes_text(variable.axes) + " and the shape " +
               shape + ", expected " + axes_text(expected);
    if (is_permutation_of(variable.shape, extents))
        return "'" + name + "' has the shape " + shape + " and no axes, expected the shape " +
               h5::shape_text(extents) + " of " + axes_text(expected) +
               "; transpose it and attach its axes" + page;
    return "'" + name + "' has the shape " + shape + " and no axes (dimension scales)" + asked +
           attach_line(name, expected) + page;
}

}  // namespace surrogate::dataset
