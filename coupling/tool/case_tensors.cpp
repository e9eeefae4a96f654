// SPDX-License-Identifier: Apache-2.0
// Which tensors of a file belong to its network, and whether they fit.
#include <string>
#include <vector>

#include "coupling/tool/check_case.hpp"

namespace surrogate::tool {

namespace {

const surrogate_tensor& tensor(const std::vector<surrogate_tensor>& tensors,
                               const std::string& name, const std::string& file) {
    for (const auto& candidate : tensors)
        if (name == candidate.name) return candidate;
    throw Failure(Exit::no_case, file + " has no check case: tensor check/" + name + " is missing");
}

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
    Finder(LoadedCase& loaded, const std::string& file)
        : loaded_(loaded),
          file_(file),
          list_(loaded.tensors.tensors()),
          domains_{loaded.model.input_domain(), loaded.model.output_domain()} {
        loaded.n_sample = -1;
        for (int side = 0; side < 2; ++side) {
            const bool is_sphere = domains_[side].kind == SURROGATE_SPHERE;
            loaded.n_point[side] = is_sphere ? domains_[side].n_lat * domains_[side].n_lon : -1;
        }
    }

    template <class T>
    CaseTensor<T> find(const std::string& name, const surrogate_port_info& port, int32_t dtype) {
        const surrogate_tensor& t = tensor(list_, name, file_);
        const int side = port.is_on_output_domain ? 1 : 0;
        const surrogate_domain_info& domain = domains_[side];
        require(t, dtype,
                expected_shape(domain, loaded_.n_sample, loaded_.n_point[side], port.n_channel),
                domain);
        loaded_.n_sample = t.shape[0];
        if (domain.kind == SURROGATE_POINTS)  // both domains are the same points
            loaded_.n_point[0] = loaded_.n_point[1] = t.shape[1];
        return {port.name, port.n_channel, side,
                layout_of(domain, loaded_.n_point[side], port.n_channel),
                static_cast<const T*>(t.data)};
    }

    std::vector<int64_t> shape(const std::string& name) const {
        return shape_of(tensor(list_, name, file_));
    }

private:
    LoadedCase& loaded_;
    const std::string& file_;
    std::vector<surrogate_tensor> list_;
    surrogate_domain_info domains_[2];
};

void find_tensors(LoadedCase& loaded, const std::string& file) {
    Finder finder(loaded, file);
    for (const surrogate_port_info& port : loaded.model.ports())
        if (!port.is_output)
            loaded.inputs.push_back(
                finder.find<float>(std::string("input/") + port.name, port, SURROGATE_FLOAT32));
    for (const surrogate_port_info& port : loaded.model.ports()) {
        if (!port.is_output) continue;
        if (loaded.y.data != nullptr)
            throw Failure(Exit::no_case, file + " has a network of several outputs (" +
                                             loaded.y.name + ", " + port.name +
                                             "); a check case judges one");
        const std::string name = port.name;
        loaded.y = finder.find<float>("output/" + name, port, SURROGATE_FLOAT32);
        loaded.y64 = finder.find<double>("output64/" + name, port, SURROGATE_FLOAT64);
        loaded.y_shape = finder.shape("output/" + name);
    }
    if (loaded.n_sample < 1) throw Failure(Exit::no_case, file + " has a check case of no sample");
}

}  // namespace

LoadedCase load_case(const Job& job, const Context& context, const std::string& file) {
    try {
        // The check case first: a file that is only data for tests is "no check case" and not "no
        // model".
        CheckCase tensors(context, file);
        LoadedCase loaded{Model(context, file), std::move(tensors)};
        job.agree([&] { find_tensors(loaded, file); });
        return loaded;
    } catch (const Error& error) {
        if (error.status() == SURROGATE_NOT_SUPPORTED) throw Failure(Exit::no_case, error.what());
        throw;
    }
}

}  // namespace surrogate::tool
