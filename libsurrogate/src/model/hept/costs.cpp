// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/costs.hpp"

#include <algorithm>
#include <cstdio>

namespace surrogate::impl::hept {

namespace {

double real(int64_t n) {
    return static_cast<double>(n);
}

/// Returns the number of (query, key) pairs that this rank computes in one layer.
double pairs_of(const Config& c, const TokenPlan& plan) {
    double pairs = 0;
    for (const TokenPlan::Block& block : plan.blocks()) pairs += real(block.n) * real(block.n);
    return pairs * real(c.n_row());
}

/// Computes the cost of a layer by the formulas of the specification, section 9; a multiply-add
/// counts 2. Ghost tokens are projected and hashed on the rank that computes their attention.
LayerCost layer_cost(const Config& c, const Work& work) {
    const double d = real(c.h_dim), n_head = real(c.num_heads), e = real(c.n_query());
    const double pairs = pairs_of(c, work.plan);
    const double a_token = 3 * n_head * d * d + 2 * n_head * e * real(c.n_hashes);
    const double an_own = n_head * d * d + 2 * d * d;
    LayerCost cost;
    cost.flops = 2 * (real(work.plan.n_token()) * a_token + pairs * (e + d) +
                      real(work.plan.n_own()) * an_own);
    cost.exponentials = pairs;
    cost.bytes_sent = work.layer_bytes;
    cost.collectives = work.layer_collectives;
    cost.messages = work.layer_messages;
    return cost;
}

/// Returns a text such as "12.3 %".
std::string percent(int64_t part, int64_t whole) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f %%",
                  100 * real(part) / real(std::max<int64_t>(whole, 1)));
    return text;
}

}  // namespace

std::vector<LayerCost> costs_of(const Config& c, const Work& work) {
    const double n = real(work.plan.n_own()), d = real(c.h_dim), m = real(c.n_embedding());
    const double wide = real(Config::mlp_width);
    std::vector<LayerCost> list;
    const bool travels = !work.is_on_device || work.n_given > 0;
    const int64_t n_given = work.is_on_device ? work.n_given : c.in_dim;
    if (!work.is_on_device) list.push_back(error_flag_cost("error flag of every rank"));
    if (travels)
        list.push_back(
            scatter_cost("inputs to owner ranks", work.n_solver * n_given * work.value_bytes, 1));
    list.push_back({"encoder", 2 * n * (real(c.n_feature()) * d + d * d)});
    if (work.is_on_device && work.layer_collectives > 0)
        list.push_back(scatter_cost("coordinates of ghost tokens", work.coordinate_bytes, 1));
    for (int64_t i = 0; i < c.n_layers; ++i) {
        list.push_back(layer_cost(c, work));
        list.back().name = "layer " + std::to_string(i);
    }
    const double a_token =
        real(c.n_layers + 1) * d * m + 2 * wide * m + 3 * wide * wide + m * real(c.num_classes);
    list.push_back({"output MLP", 2 * n * a_token, n * 4 * wide});
    if (!travels) return list;
    list.push_back(scatter_cost("outputs to solver order",
                                work.plan.n_point() * c.n_out() * work.value_bytes, 1));
    return list;
}

std::vector<std::string> notes_of(const Config& c, const Work& work) {
    const TokenPlan& plan = work.plan;
    int64_t n_cell = 0;
    for (int64_t row = 0; row < c.n_row(); ++row) n_cell += std::ssize(plan.cells(row));
    std::vector<std::string> notes;
    notes.push_back("tokens: " + std::to_string(plan.n_token_global()) + " in " +
                    std::to_string(plan.n_block_global()) + " blocks of " +
                    std::to_string(c.block_size) + ", in each of " + std::to_string(c.n_hashes) +
                    " tables of " + std::to_string(c.num_heads) + " heads");
    notes.push_back("cells: this rank sorts " + std::to_string(n_cell) + ", of up to " +
                    std::to_string(plan.largest_cell()) + " tokens, twice per layer; " +
                    std::to_string(plan.n_cut_cell()) + " are shared between ranks");
    notes.push_back("ghost tokens per layer, over all ranks: " + std::to_string(plan.n_visit()) +
                    " (" + percent(plan.n_visit(), plan.n_token_global()) + ")");
    return notes;
}

}  // namespace surrogate::impl::hept
