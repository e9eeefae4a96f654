// SPDX-License-Identifier: Apache-2.0
// Finds the tensors of a file that belong to its network, and checks them.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "coupling/case/case_shape.hpp"

namespace surrogate::tool {

namespace {

/// Reads the tensors of the ports one by one. The first tensors define the numbers of samples and
/// points.
class Finder {
public:
    Finder(const Model& model, const CheckCase& check_case, const std::string& file)
        : file_(file),
          list_(check_case.tensors()),
          domains_{model.input_domain(), model.output_domain()} {
        for (int side = 0; side < 2; ++side) {
            if (domains_[side].kind == SURROGATE_SPHERE)
                counts.n_point[side] = domains_[side].n_lat * domains_[side].n_lon;
        }
    }

    const surrogate_tensor* find(const std::string& name) const {
        for (const auto& candidate : list_)
            if (name == candidate.name) return &candidate;
        return nullptr;
    }

    const surrogate_tensor& tensor(const std::string& name) const {
        if (const surrogate_tensor* found = find(name)) return *found;
        throw Failure(Exit::no_case,
                      file_ + " has no check case: tensor check/" + name + " is missing");
    }

    CaseShape shape(const surrogate_tensor& t, const surrogate_port_info& port,
                    const std::vector<int32_t>& types) {
        return read_shape(t, port, domains_[port.location == SURROGATE_ON_OUTPUT ? 1 : 0], types,
                          counts);
    }

    template <class T>
    CaseTensor<T> take(const std::string& name, const surrogate_port_info& port, int32_t dtype) {
        const surrogate_tensor& t = tensor(name);
        const CaseShape s = shape(t, port, {dtype});
        return {port.name, port.n_channel, port.location,
                s.n_row,   s.layout,       static_cast<const T*>(t.data)};
    }

    CaseCounts counts;

private:
    const std::string& file_;
    std::vector<surrogate_tensor> list_;
    surrogate_domain_info domains_[2];
};

template <class T>
std::unique_ptr<int64_t[]> as_integers(const void* data, int64_t n) {
    auto values = std::make_unique<int64_t[]>(static_cast<size_t>(n));
    std::copy_n(static_cast<const T*>(data), n, values.get());
    return values;
}

/// Reads integers of any width, including masks.
void take_integers(Finder& finder, const std::string& name, const surrogate_port_info& port,
                   CaseTensors& tensors) {
    const surrogate_tensor& t = finder.tensor(name);
    const CaseShape s = finder.shape(t, port, {SURROGATE_INT64, SURROGATE_INT32, SURROGATE_UINT8});
    int64_t n = 1;
    for (int axis = 0; axis < t.n_dim; ++axis) n *= t.shape[axis];
    tensors.converted.push_back(t.dtype == SURROGATE_INT64   ? as_integers<int64_t>(t.data, n)
                                : t.dtype == SURROGATE_INT32 ? as_integers<int32_t>(t.data, n)
                                                             : as_integers<uint8_t>(t.data, n));
    tensors.integers.push_back({port.name, port.n_channel, port.location, s.n_row, s.layout,
                                tensors.converted.back().get()});
}

void take_input(Finder& finder, const surrogate_port_info& port, bool is_optional,
                CaseTensors& tensors) {
    const std::string name = std::string("input/") + port.name;
    if (is_optional && !finder.find(name)) return;
    if (port.kind == SURROGATE_INTEGER) return take_integers(finder, name, port, tensors);
    CaseTensor<float> tensor = finder.take<float>(name, port, SURROGATE_FLOAT32);
    if (port.location != SURROGATE_COORDINATES) {
        tensors.inputs.push_back(std::move(tensor));
        return;
    }
    if (tensor.layout.sample != 0 && finder.counts.n_sample > 1)
        throw Failure(Exit::bad_usage,
                      "tensor check/" + name +
                          " has different positions for each sample; a check case has one set of "
                          "points: omit the axis of samples, or use one sample");
    tensors.positions = std::move(tensor);
}

/// Reads one number for each point; null if the case does not have the tensor. `what` names the
/// numbers in messages.
template <class T>
const T* find_numbers(Finder& finder, const char* name, const std::string& what) {
    const std::string path = std::string("input/") + name;
    const surrogate_tensor* const numbers = finder.find(path);
    if (!numbers) return nullptr;
    const surrogate_port_info port{name, 1, 0, SURROGATE_ON_INPUT, SURROGATE_INTEGER};
    const int32_t type = std::is_same_v<T, double> ? SURROGATE_FLOAT64 : SURROGATE_INT64;
    if (!finder.shape(*numbers, port, {type}).is_shared)
        throw Failure(Exit::bad_usage, "tensor check/" + path + " has an axis of samples; " + what +
                                           " belong to the points: (points)");
    return static_cast<const T*>(numbers->data);
}

/// Reads the clouds of the points: batch indices of PyTorch, which its networks require in
/// ascending order.
void take_clouds(Finder& finder, CaseTensors& tensors) {
    tensors.clouds = find_numbers<int64_t>(finder, "batch", "clouds");
    if (!tensors.clouds) return;
    for (int64_t i = 1; i < finder.counts.n_point[0]; ++i) {
        if (tensors.clouds[i] >= tensors.clouds[i - 1]) continue;
        throw Failure(Exit::bad_usage, "tensor check/input/batch decreases from " +
                                           std::to_string(tensors.clouds[i - 1]) + " to " +
                                           std::to_string(tensors.clouds[i]) + " in row " +
                                           std::to_string(i) + "; points must be sorted by cloud");
    }
}

/// Reads edges between points, by rows of the case.
void take_edges(Finder& finder, CaseTensors& tensors) {
    const surrogate_tensor* const edges = finder.find("input/edges");
    if (!edges) return;
    const bool is_wide = edges->dtype == SURROGATE_INT64;
    if (edges->n_dim != 2 || edges->shape[0] != 2 || (!is_wide && edges->dtype != SURROGATE_INT32))
        throw Failure(
            Exit::bad_usage,
            "tensor check/input/edges has " + std::to_string(edges->n_dim) + " axes and type " +
                std::to_string(edges->dtype) +
                ", expected int32 or int64 (2, edges): rows of the case that are sources, "
                "and rows that are targets");
    const int64_t n_edge = edges->shape[1], n_point = finder.counts.n_point[0];
    const auto rows = is_wide ? as_integers<int64_t>(edges->data, 2 * n_edge)
                              : as_integers<int32_t>(edges->data, 2 * n_edge);
    for (int64_t i = 0; i < 2 * n_edge; ++i) {
        if (rows[static_cast<size_t>(i)] >= 0 && rows[static_cast<size_t>(i)] < n_point) {
            const int64_t row = rows[static_cast<size_t>(i)];
            (i < n_edge ? tensors.sources : tensors.targets)
                .push_back(tensors.ids ? tensors.ids[row] : row);
            continue;
        }
        throw Failure(Exit::bad_usage, "tensor check/input/edges holds row " +
                                           std::to_string(rows[static_cast<size_t>(i)]) +
                                           "; the case has " + std::to_string(n_point) + " points");
    }
    tensors.has_edges = true;
}

/// Reads the outputs, of which one is sufficient.
void take_output(Finder& finder, const surrogate_port_info& port, CaseTensors& tensors) {
    const std::string single = std::string("output/") + port.name,
                      exact = std::string("output64/") + port.name;
    const surrogate_tensor* const has_exact = finder.find(exact);
    const surrogate_tensor& shown = has_exact ? *has_exact : finder.tensor(single);
    if (!has_exact || finder.find(single))
        tensors.y = finder.take<float>(single, port, SURROGATE_FLOAT32);
    if (has_exact) {
        const auto& y = tensors.y64 = finder.take<double>(exact, port, SURROGATE_FLOAT64);
        tensors.y = {y.name, y.n_channel, y.place, y.n_row, y.layout, tensors.y.data};
    }
    tensors.y_shape.assign(shown.shape, shown.shape + shown.n_dim);
    const bool has_points = finder.counts.n_point[0] > 0;  // without points, strides are 0 too
    if (has_points && tensors.y.layout.sample == 0 && finder.counts.n_sample > 1)
        throw Failure(Exit::bad_usage, "tensor check/" + std::string(shown.name) +
                                           " has no axis of samples, but the case has " +
                                           std::to_string(finder.counts.n_sample) + " samples");
}

/// Rejects a case without numbers. Shapes without numbers need no storage: 2^40 samples of zero
/// points fit into a file of 7 KB.
void check_counts(const CaseTensors& tensors, const std::string& file) {
    if (tensors.n_sample < 1)
        throw Failure(Exit::no_case, file + " has a check case without samples");
    if (tensors.n_point[0] < 1 || tensors.n_point[1] < 1)
        throw Failure(Exit::no_case, file + " has a check case without points");
    if (tensors.n_sample > max_samples)
        throw Failure(Exit::bad_usage, file + " has a check case of " +
                                           std::to_string(tensors.n_sample) + " samples; at most " +
                                           std::to_string(max_samples) +
                                           " are run, and a few are enough");
}

}  // namespace

std::vector<std::string> CaseTensors::input_names() const {
    std::vector<std::string> names;
    if (positions.data) names.push_back(positions.name);
    for (const auto& tensor : inputs) names.push_back(tensor.name);
    for (const auto& tensor : integers) names.push_back(tensor.name);
    return names;
}

CaseTensors find_tensors(const Model& model, const CheckCase& check_case, const std::string& file) {
    Finder finder(model, check_case, file);
    CaseTensors tensors;
    std::string y;
    const std::vector<surrogate_port_info> ports = model.ports();
    for (size_t p = 0; p < ports.size(); ++p) {
        if (!ports[p].is_output)
            take_input(finder, ports[p], model.port_is_optional(static_cast<int32_t>(p)), tensors);
    }
    if (finder.counts.n_sample < 0) finder.counts.n_sample = 1;
    for (const surrogate_port_info& port : ports) {
        if (!port.is_output) continue;
        if (!y.empty())
            throw Failure(Exit::no_case, file + " has a network of several outputs (" + y + ", " +
                                             port.name + "); a check case compares one output");
        y = port.name;
        take_output(finder, port, tensors);
    }
    if (model.input_domain().kind == SURROGATE_POINTS) {
        // The id of a point is its row if the case has no ids.
        tensors.ids = find_numbers<int64_t>(finder, "gid", "ids");
        tensors.weights = find_numbers<double>(finder, "weight", "weights");
        take_clouds(finder, tensors);
        take_edges(finder, tensors);
    }
    tensors.n_sample = finder.counts.n_sample;
    std::copy_n(finder.counts.n_point, 2, tensors.n_point);
    check_counts(tensors, file);
    return tensors;
}

LoadedCase load_case(const Job& job, const Context& context, const std::string& file) {
    try {
        // Reads the check case first: a file that only contains data for tests fails with "no check
        // case" and not with "no model".
        CheckCase check_case(context, file);
        LoadedCase loaded{Model(context, file), std::move(check_case), {}};
        job.agree([&] { loaded.tensors = find_tensors(loaded.model, loaded.check_case, file); });
        return loaded;
    } catch (const Error& error) {
        if (error.status() == SURROGATE_NOT_SUPPORTED) throw Failure(Exit::no_case, error.what());
        throw;
    }
}

}  // namespace surrogate::tool
