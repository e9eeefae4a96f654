// SPDX-License-Identifier: Apache-2.0
// Which tensors of a file belong to its network, and whether they fit.
#include <algorithm>
#include <string>
#include <vector>

#include "coupling/tool/check_case.hpp"

namespace surrogate::tool {

namespace {

std::vector<int64_t> shape_of(const surrogate_tensor& t) {
    return {t.shape, t.shape + t.n_dim};
}

std::string text_of(const std::vector<int64_t>& shape) {
    std::string text;
    for (const int64_t n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
    return "(" + text + ")";
}

const char* name_of(int32_t dtype) {
    switch (dtype) {
        case SURROGATE_FLOAT32: return "float32";
        case SURROGATE_FLOAT64: return "float64";
        case SURROGATE_INT32: return "int32";
        case SURROGATE_INT64: return "int64";
        default: return "another type";
    }
}

/// The shape a port's tensor must have; -1: free.
std::vector<int64_t> expected_shape(const surrogate_domain_info& domain, int64_t n_sample,
                                    int64_t n_point, int64_t n_channel) {
    if (domain.kind == SURROGATE_SPHERE) return {n_sample, n_channel, domain.n_lat, domain.n_lon};
    return {n_sample, n_point, n_channel};
}

bool is_like(const std::vector<int64_t>& shape, const std::vector<int64_t>& expected) {
    if (shape.size() != expected.size()) return false;
    for (size_t i = 0; i < shape.size(); ++i)
        if (expected[i] >= 0 && shape[i] != expected[i]) return false;
    return true;
}

void require(const surrogate_tensor& t, int32_t dtype, const std::vector<int64_t>& expected,
             const surrogate_domain_info& domain) {
    if (t.dtype == dtype && is_like(shape_of(t), expected)) return;
    const char* axes = domain.kind == SURROGATE_SPHERE ? "(samples, channels, n_lat, n_lon)"
                                                       : "(samples, points, channels)";
    std::string wanted = text_of(expected);
    for (size_t at; (at = wanted.find("-1")) != std::string::npos;) wanted.replace(at, 2, "any");
    throw Failure(Exit::bad_usage, std::string("tensor check/") + t.name + " is " +
                                       name_of(t.dtype) + " " + text_of(shape_of(t)) +
                                       "; expected " + name_of(dtype) + " " + wanted + " = " +
                                       axes);
}

TensorLayout layout_of(const surrogate_domain_info& domain, int64_t n_point, int64_t n_channel) {
    if (domain.kind == SURROGATE_SPHERE) return {n_channel * n_point, 1, n_point};
    return {n_point * n_channel, n_channel, 1};
}

/// Takes the tensors of the ports one by one; the first ones fix the numbers of samples and points.
class Finder {
public:
    Finder(const Model& model, const CheckCase& check_case, const std::string& file)
        : file_(file),
          list_(check_case.tensors()),
          domains_{model.input_domain(), model.output_domain()} {
        for (int side = 0; side < 2; ++side) {
            const bool is_sphere = domains_[side].kind == SURROGATE_SPHERE;
            n_point[side] = is_sphere ? domains_[side].n_lat * domains_[side].n_lon : -1;
        }
    }

    bool has(const std::string& name) const { return find(name) != nullptr; }

    template <class T>
    CaseTensor<T> take(const std::string& name, const surrogate_port_info& port, int32_t dtype) {
        const surrogate_tensor& t = tensor(name);
        const int side = port.place == SURROGATE_AT_OUTPUT ? 1 : 0;
        const surrogate_domain_info& domain = domains_[side];
        require(t, dtype, expected_shape(domain, n_sample, n_point[side], port.n_channel), domain);
        n_sample = t.shape[0];
        if (domain.kind == SURROGATE_POINTS)  // both domains are the same points
            n_point[0] = n_point[1] = t.shape[1];
        return {port.name, port.n_channel, side, layout_of(domain, n_point[side], port.n_channel),
                static_cast<const T*>(t.data)};
    }

    std::vector<int64_t> shape(const std::string& name) const { return shape_of(tensor(name)); }

    int64_t n_sample = -1;
    int64_t n_point[2] = {-1, -1};

private:
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

    const std::string& file_;
    std::vector<surrogate_tensor> list_;
    surrogate_domain_info domains_[2];
};

/// Either of the two outputs will do.
void take_output(Finder& finder, const surrogate_port_info& port, CaseTensors& tensors) {
    const std::string single = std::string("output/") + port.name,
                      exact = std::string("output64/") + port.name;
    const bool has_exact = finder.has(exact);
    if (!has_exact || finder.has(single)) {
        tensors.y = finder.take<float>(single, port, SURROGATE_FLOAT32);
        tensors.y_shape = finder.shape(single);
    }
    if (!has_exact) return;
    tensors.y64 = finder.take<double>(exact, port, SURROGATE_FLOAT64);
    tensors.y_shape = finder.shape(exact);
    const auto& y = tensors.y64;
    tensors.y = {y.name, y.n_channel, y.side, y.layout, tensors.y.data};
}

/// A case without numbers says nothing, and shapes without numbers cost nothing: 2^40 samples of no
/// point fit into a file of 7 KB.
void check_counts(const CaseTensors& tensors, const std::string& file) {
    if (tensors.n_sample < 1) throw Failure(Exit::no_case, file + " has a check case of no sample");
    if (tensors.n_point[0] < 1 || tensors.n_point[1] < 1)
        throw Failure(Exit::no_case, file + " has a check case of no point");
    if (tensors.n_sample > max_samples)
        throw Failure(Exit::bad_usage, file + " has a check case of " +
                                           std::to_string(tensors.n_sample) + " samples; at most " +
                                           std::to_string(max_samples) +
                                           " are run, and a few are enough");
}

}  // namespace

CaseTensors find_tensors(const Model& model, const CheckCase& check_case, const std::string& file) {
    Finder finder(model, check_case, file);
    CaseTensors tensors;
    std::string y;
    for (const surrogate_port_info& port : model.ports())
        if (!port.is_output)
            tensors.inputs.push_back(
                finder.take<float>(std::string("input/") + port.name, port, SURROGATE_FLOAT32));
    for (const surrogate_port_info& port : model.ports()) {
        if (!port.is_output) continue;
        if (!y.empty())
            throw Failure(Exit::no_case, file + " has a network of several outputs (" + y + ", " +
                                             port.name + "); a check case judges one");
        y = port.name;
        take_output(finder, port, tensors);
    }
    tensors.n_sample = finder.n_sample;
    std::copy_n(finder.n_point, 2, tensors.n_point);
    check_counts(tensors, file);
    return tensors;
}

LoadedCase load_case(const Job& job, const Context& context, const std::string& file) {
    try {
        // The check case first: a file that is only data for tests is "no check case" and not "no
        // model".
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
