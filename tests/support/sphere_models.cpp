// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sphere_models.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "libsurrogate/src/file/card.hpp"
#include "libsurrogate/src/model/families.hpp"

namespace surrogate::test {

using nlohmann::json;

std::vector<float> wave(int64_t size, double seed, double amplitude, double offset) {
    std::vector<float> values(static_cast<size_t>(size));
    for (int64_t n = 0; n < size; ++n) {
        values[static_cast<size_t>(n)] =
            static_cast<float>(offset + amplitude * std::sin(1.3 * static_cast<double>(n) + seed));
    }
    return values;
}

json sphere_card(const json& network, int n_in, int n_out) {
    json card = {{"format", 1}, {"family", "sphere"}, {"network", network}};
    if (n_in == 0) return card;
    const auto fields = [](const std::string& letter, int n) {
        json list = json::array();
        for (int i = 0; i < n; ++i) {
            list.push_back({{"name", letter + std::to_string(i)},
                            {"unit", "m"},
                            {"mean", 0.25 * i},
                            {"std", 1.0 + 0.5 * i}});
        }
        return list;
    };
    card["inputs"] = fields("u", n_in);
    card["outputs"] = fields("v", n_out);
    return card;
}

ModelWriter sphere_model(const json& card) {
    ModelWriter writer;
    writer.card = card;
    double t = 0;
    for (const impl::TensorSpec& spec :
         impl::required_tensors(impl::parse_card(card.dump()), 1 << 20)) {
        const double seed = t++;
        if (spec.is_optional) continue;
        const int64_t size = std::accumulate(spec.shape.begin(), spec.shape.end(), int64_t{1},
                                             std::multiplies<int64_t>());
        const bool is_bias = spec.name.ends_with("bias");
        const bool is_norm =
            spec.name.find("norm") != std::string::npos && spec.name.ends_with("weight");
        const double width = static_cast<double>(size / spec.shape[0]);
        const double amplitude = is_bias || is_norm ? 0.1 : 1 / std::sqrt(width);
        const double offset = is_norm ? 1 : 0;
        writer.tensors.push_back(
            float_tensor(spec.name, spec.shape, wave(size, seed, amplitude, offset)));
    }
    return writer;
}

json changed(json base, const json& changes) {
    for (const auto& [key, value] : changes.items()) {
        if (value.is_null()) {
            base.erase(key);
        } else {
            base[key] = value;
        }
    }
    return base;
}

json small_transformer() {
    return json::parse(R"json({
        "model": "SphericalTransformer", "img_size": [12, 24], "grid": "equiangular",
        "in_chans": 3, "out_chans": 3, "scale_factor": 2, "embed_dim": 8, "num_layers": 2,
        "encoder_kernel_shape": [5, 4], "filter_basis_type": "piecewise linear", "num_heads": 2,
        "normalization_layer": "instance_norm", "residual_prediction": true})json");
}

json small_segformer() {
    return json::parse(R"json({
        "model": "SphericalSegformer", "img_size": [24, 48], "grid": "legendre-gauss",
        "grid_internal": "equiangular",
        "in_chans": 3, "out_chans": 2, "embed_dims": [4, 6], "heads": [1, 2], "depths": [1, 2],
        "kernel_shape": [5, 4], "filter_basis_type": "piecewise linear", "bias": false})json");
}

json small_attention(bool is_global) {
    return {{"layer", is_global ? "AttentionS2" : "NeighborhoodAttentionS2"},
            {"in_channels", 4},
            {"num_heads", 2},
            {"in_shape", {12, 24}},
            {"out_shape", {12, 24}}};
}

json small_convolution() {
    return {{"layer", "DiscreteContinuousConvS2"},
            {"in_channels", 3},
            {"out_channels", 4},
            {"in_shape", {12, 24}},
            {"out_shape", {12, 24}},
            {"kernel_shape", {5, 4}},
            {"theta_cutoff", 0.8}};
}

json small_resampling() {
    return {{"layer", "ResampleS2"},
            {"in_shape", {8, 16}},
            {"grid_in", "legendre-gauss"},
            {"out_shape", {12, 24}}};
}

ModelOnDisk::ModelOnDisk(const std::string& bytes) {
    static int n_made = 0;
    path_ =
        std::filesystem::temp_directory_path() / ("surrogate_sphere_" + std::to_string(getpid()) +
                                                  "_" + std::to_string(n_made++) + ".safetensors");
    std::ofstream(path_, std::ios::binary).write(bytes.data(), std::ssize(bytes));
}

ModelOnDisk::~ModelOnDisk() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
}

namespace {

int64_t n_point(const surrogate_domain_info& info) {
    return info.n_lat * info.n_lon;
}

Domain whole_sphere(const Context& context, const surrogate_domain_info& info) {
    surrogate_sphere sphere{};
    sphere.grid = info.grid;
    sphere.n_lat = sphere.n_lat_local = info.n_lat;
    sphere.n_lon = sphere.n_lon_local = info.n_lon;
    return {context, sphere};
}

/// (n_channel, n_point) as the C interface describes it.
template <class T>
surrogate_array channels_first(T* data, int64_t n, int64_t n_channel) {
    surrogate_array array = matrix(data, n, n_channel);
    array.stride[0] = 1;
    array.stride[1] = n;
    return array;
}

}  // namespace

std::vector<double> evaluate(const std::string& path, const std::vector<std::vector<float>>& inputs,
                             const Options& options) {
    const Context self;
    const Model model(self, path);
    const surrogate_domain_info in = model.input_domain(), out = model.output_domain();
    const Domain input = whole_sphere(self, in), output = whole_sphere(self, out);
    Plan plan(model, input, output, options);
    std::vector<surrogate_named_array> given;
    std::vector<double> y;
    surrogate_named_array result{};
    size_t next = 0;
    const std::vector<surrogate_port_info> ports = model.ports();
    for (const surrogate_port_info& port : ports) {
        const int64_t n = n_point(port.location == SURROGATE_ON_OUTPUT ? out : in);
        if (port.is_output) {
            y.assign(static_cast<size_t>(n * port.n_channel), NAN);
            result = {port.name, channels_first(y.data(), n, port.n_channel)};
        } else {
            const std::vector<float>& x = inputs.at(next++);
            if (std::ssize(x) != n * port.n_channel) throw std::runtime_error("size of an input");
            given.push_back({port.name, channels_first(x.data(), n, port.n_channel)});
        }
    }
    plan.run_network(given, {result});
    return y;
}

std::vector<std::vector<float>> wave_inputs(const Model& model) {
    const surrogate_domain_info in = model.input_domain(), out = model.output_domain();
    std::vector<std::vector<float>> inputs;
    for (const surrogate_port_info& port : model.ports()) {
        if (port.is_output) continue;
        const int64_t n = n_point(port.location == SURROGATE_ON_OUTPUT ? out : in);
        inputs.push_back(wave(n * port.n_channel, 0.6 + static_cast<double>(inputs.size())));
    }
    return inputs;
}

}  // namespace surrogate::test
