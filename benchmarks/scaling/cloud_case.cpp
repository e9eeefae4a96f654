// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/scaling/cloud_case.hpp"

#include "benchmarks/scaling/point_formula.hpp"

namespace surrogate::bench {

nlohmann::json bsa_network(const std::string& variant, int64_t depth) {
    nlohmann::json network = {{"c_in", 64},          {"c_hidden", 64},       {"depth", depth},
                              {"num_heads", 8},      {"mlp_ratio", 4},       {"ball_size", 256},
                              {"dimensionality", 3}, {"pos_enc", "fourier"}, {"c_out", 1}};
    nlohmann::json& attention = network["attention_kwargs"] = nlohmann::json::object();
    network["attention_type"] = variant == "ball"   ? "ball"
                                : variant == "full" ? "global"
                                                    : "sparse";
    if (variant == "group_compression")
        attention = {{"use_coarse_q_attn", true}, {"use_coarse_q_importance", true}};
    if (variant == "no_group") attention = {{"use_group_selection", false}};
    if (variant == "mean") attention = {{"use_compress_mlp", false}};
    return network;
}

nlohmann::json erwin_network(int64_t depth) {
    return {{"pos_enc", "fourier"},
            {"c_in", 64},
            {"dimensionality", 3},
            {"c_out", 1},
            {"c_hidden", {32, 64}},
            {"ball_sizes", {128, 128}},
            {"enc_num_heads", {2, 4}},
            {"enc_depths", {depth / 4, depth / 2}},
            {"strides", {2}},
            {"dec_num_heads", {2}},
            {"dec_depths", {depth / 4}},
            {"rotate", 45},
            {"mlp_ratio", 4},
            {"mp_steps", 1},
            {"neighbors", 8}};
}

nlohmann::json sequoia_network(int64_t depth) {
    return {{"pos_enc", "fourier"}, {"tree", "points"}, {"num_layers", depth}};
}

std::vector<double> cloud_positions(const Context& context, int64_t n) {
    const Share share = share_of(context, n);
    std::vector<double> x;
    for (int64_t i = share.first; i < share.first + share.n; ++i) {
        const auto seed = static_cast<uint64_t>(3 * i);
        x.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(n));
        x.push_back(uniform(seed));
        x.push_back(uniform(seed + 1));
    }
    return x;
}

CloudRun::CloudRun(const Context& context, const std::string& path, int64_t n,
                   const Options& options)
    : model_(context, path), domain_(make_domain(context, n)), plan_(model_, domain_, options) {
    y_.resize(ids_.size());
}

Domain CloudRun::make_domain(const Context& context, int64_t n) {
    x_ = cloud_positions(context, n);
    ids_ = global_ids(context, n);
    return Domain(context, matrix(x_.data(), std::ssize(ids_), 3), ids_.data());
}

void CloudRun::run() {
    plan_.run_network({}, {{"y", matrix(y_.data(), std::ssize(y_), 1)}});
}

void CloudRun::move() {
    for (size_t i = 1; i < x_.size(); i += 3) x_[i] = 1 - x_[i];
    domain_.update_points(matrix(x_.data(), std::ssize(ids_), 3), ids_.data());
}

}  // namespace surrogate::bench
