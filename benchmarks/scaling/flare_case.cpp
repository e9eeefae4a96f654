// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/scaling/flare_case.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>

#include "tests/support/model_writer.hpp"

namespace surrogate::bench {

namespace {

/// Returns weights of the size of trained models: 1/sqrt(n_in) for matrices, 1 for norms, 0 for
/// biases, each with some variation.
float weight(const impl::TensorSpec& spec, int64_t i) {
    const double wave =
        std::sin(0.7 * static_cast<double>(i + 1) + static_cast<double>(spec.name.size()));
    if (spec.name.ends_with("latent_q")) return static_cast<float>(wave);
    if (spec.shape.size() == 2)
        return static_cast<float>(wave / std::sqrt(static_cast<double>(spec.shape[1])));
    return static_cast<float>(
        (spec.name.find("norm") != std::string::npos && spec.name.ends_with("weight") ? 1 : 0) +
        0.1 * wave);
}

}  // namespace

FlareCase::FlareCase(int num_blocks, int64_t num_latents) {
    test::ModelWriter writer;
    writer.card = {{"format", 1}, {"family", "flare"}};
    writer.card["network"] = {{"in_dim", 3},       {"out_dim", 1},
                              {"channel_dim", 64}, {"num_blocks", num_blocks},
                              {"num_heads", 8},    {"num_latents", num_latents}};
    config_ = impl::flare::parse_config(writer.card["network"]);
    for (const impl::TensorSpec& spec : impl::flare::layout(config_)) {
        int64_t n = 1;
        for (int64_t extent : spec.shape) n *= extent;
        std::vector<float> values(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = weight(spec, i);
        writer.tensors.push_back(test::float_tensor(spec.name, spec.shape, values));
    }
    path_ = "flare_case_" + std::to_string(num_blocks) + "_" + std::to_string(::getpid()) +
            ".safetensors";
    std::ofstream(path_, std::ios::binary) << writer.bytes();
}

FlareCase::~FlareCase() {
    std::remove(path_.c_str());
}

double FlareCase::flops() const {
    const double channels = static_cast<double>(config_.channel_dim);
    const double block = config_.k_proj.flops() + config_.v_proj.flops() + config_.ffn.flops() +
                         2 * channels * channels +
                         8 * static_cast<double>(config_.num_latents) * channels;
    return config_.in_proj.flops() + config_.out_proj.flops() +
           static_cast<double>(config_.num_blocks) * block;
}

double FlareCase::pairs() const {
    return static_cast<double>(config_.num_blocks * config_.num_heads * config_.num_latents);
}

std::vector<float> make_inputs(int64_t n) {
    std::vector<float> x(static_cast<size_t>(3 * n));
    for (size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i)));
    return x;
}

FlareRun::FlareRun(const Context& context, const std::string& path, int64_t n,
                   const Options& options)
    : x_(make_inputs(n / context.size())),
      y_(x_.size() / 3),
      model_(context, path),
      domain_(context, matrix(x_.data(), std::ssize(y_), 0)),
      plan_(model_, domain_, options) {}

void FlareRun::run() {
    const int64_t n = std::ssize(y_);
    plan_.run_network({{"x", matrix(x_.data(), n, 3)}}, {{"y", column(y_.data(), n)}});
}

}  // namespace surrogate::bench
