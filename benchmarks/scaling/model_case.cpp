// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/scaling/model_case.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <vector>

#include "libsurrogate/src/model/families.hpp"
#include "tests/support/model_writer.hpp"

namespace surrogate::bench {

namespace {

constexpr int64_t any_number = int64_t{1} << 20;  // of tensors in the file

/// Returns HEPT's table (tables, 2, heads): about 150 regions, in thirds.
float n_region(int64_t n_head, int64_t i) {
    const int64_t table = i / (2 * n_head), head = i % n_head;
    const double along = 6 + static_cast<double>((5 * table + 3 * head) % 19);
    const bool is_first = i / n_head % 2 == 0;
    return static_cast<float>(std::round(3 * (is_first ? along : 150 / along)) / 3);
}

/// Returns weights of the size of trained models, by the fill rules of the specifications.
float weight(const impl::TensorSpec& spec, int64_t i) {
    if (spec.name == "regions") return n_region(spec.shape[2], i);
    if (spec.name.ends_with("running_var")) return 1;
    const double wave =
        std::sin(1.3 * static_cast<double>(i) + static_cast<double>(spec.name.size()));
    if (spec.name.find("norm") != std::string::npos && spec.name.ends_with("weight"))
        return static_cast<float>(1 + 0.1 * wave);
    if (spec.name.ends_with("sigma_att")) return static_cast<float>(-1 + 0.1 * wave);
    if (spec.name.ends_with("bias") || spec.name.ends_with("gates"))
        return static_cast<float>(0.1 * wave);
    double n = 1;
    for (size_t d = 1; d < spec.shape.size(); ++d) n *= static_cast<double>(spec.shape[d]);
    return static_cast<float>(wave / std::sqrt(n));
}

}  // namespace

ModelCase::ModelCase(const std::string& family, const nlohmann::json& network,
                     const nlohmann::json& fields) {
    test::ModelWriter writer;
    writer.card = {{"format", 1}, {"family", family}, {"network", network}};
    if (!fields.is_null()) writer.card.update(fields);
    impl::Card card;
    card.family = family;
    card.network.root() = network;
    for (const impl::TensorSpec& spec : impl::required_tensors(card, any_number)) {
        if (spec.is_optional) continue;
        int64_t n = 1;
        for (const int64_t extent : spec.shape) n *= extent;
        std::vector<float> values(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = weight(spec, i);
        writer.tensors.push_back(test::float_tensor(spec.name, spec.shape, values));
    }
    static int n_case = 0;
    path_ = family + "_case_" + std::to_string(::getpid()) + "_" + std::to_string(n_case++) +
            ".safetensors";
    std::ofstream(path_, std::ios::binary) << writer.bytes();
}

ModelCase::~ModelCase() {
    std::remove(path_.c_str());
}

}  // namespace surrogate::bench
