// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/costs.hpp"

namespace surrogate::impl::flare {

std::vector<LayerCost> costs_of(const Config& config, const Work& work) {
    const double n = static_cast<double>(work.n_point);
    const double pairs = n * static_cast<double>(config.num_heads * config.num_latents);
    const double out_proj = 2.0 * static_cast<double>(config.channel_dim * config.channel_dim);
    // Scores and weighted sum, one pass.
    const double mixing = 4.0 * static_cast<double>(config.head_dim()) * pairs;
    std::vector<LayerCost> list;
    if (work.is_reordered) {
        list.push_back(
            scatter_cost("inputs to canonical order", work.n_solver * work.input_bytes, 1));
    }
    if (!config.is_sequence()) list.push_back({"in_proj", n * config.in_proj.flops(), 0, 0, 0});
    if (config.physicsnemo.time_input)
        list.push_back({"time_fc", n * config.physicsnemo.time_fc.flops(), 0, 0, 0});
    for (int64_t i = 0; i < config.num_blocks; ++i) {
        const std::string name = "blocks." + std::to_string(i);
        list.push_back({name + " k, v, encode", n * config.flops_of_keys_and_values() + mixing,
                        pairs, work.reduction_bytes, work.reductions});
        if (work.latent_flops > 0)
            list.push_back(
                {name + " latent blocks", work.latent_flops, work.latent_exponentials, 0, 0});
        list.push_back(
            {name + " decode, ffn", n * (out_proj + config.ffn.flops()) + mixing, pairs, 0, 0});
    }
    if (config.sequence.pool != Pool::none && config.is_sequence()) return list;
    list.push_back({"out_proj", n * config.out_proj.flops(), 0, 0, 0});
    if (work.is_reordered)
        list.push_back(
            scatter_cost("outputs to solver order", work.n_point * work.output_bytes, 1));
    return list;
}

}  // namespace surrogate::impl::flare
