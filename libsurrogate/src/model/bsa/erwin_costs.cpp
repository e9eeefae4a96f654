// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/erwin_costs.hpp"

namespace surrogate::impl::bsa::erwin {

namespace {

double real(int64_t n) {
    return static_cast<double>(n);
}

/// Adds the flops of the blocks of a stage (a multiply-add counts 2), and the bytes that rotated
/// blocks send.
void add_stage(const bsa::Config& stage, const Work::Level& level, int64_t moves,
               std::vector<LayerCost>& list) {
    const double c = real(stage.n_channel), n = real(level.n_slot), ball = real(level.ball);
    const double flops =
        8 * c * c + 2 * real(stage.n_axis) * c + 4 * c * ball + 6 * c * real(stage.n_hidden);
    const double exponentials = real(stage.n_head) * ball + real(stage.n_hidden);
    for (int64_t i = 0; i < stage.depth; ++i) {
        const int64_t turns = stage.is_layer_rotated(i) ? 2 : 0;
        list.push_back({stage.stage + "blocks." + std::to_string(i), n * flops, n * exponentials,
                        turns * level.move_bytes, turns * moves});
    }
}

}  // namespace

std::vector<LayerCost> costs_of(const Config& config, const Work& work) {
    const double c = real(config.width.front()), d = real(config.n_axis);
    const int64_t row_bytes = config.width.front() * work.value_bytes;
    std::vector<LayerCost> list;
    list.push_back(error_flag_cost("error flag of every rank"));
    list.push_back(
        {embed_name(config), real(work.n_message_point) * 2 * c * real(config.n_feature), 0, 0, 0});
    const double of_points = work.splits_messages ? 8 * c * c : 4 * c * c;
    const double of_edges = 2 * c * (work.splits_messages ? d : 2 * c + d);
    for (int64_t t = 0; t < config.n_step; ++t) {
        list.push_back({config.prefix() + ("embed.mpnn step " + std::to_string(t)),
                        real(work.n_edge) * of_edges + real(work.n_message_point) * of_points,
                        real(work.n_edge) * c, work.exchange_items * row_bytes, work.exchanges,
                        work.exchange_messages});
    }
    list.push_back(scatter_cost("points to tree order",
                                work.n_solver * work.n_sent_channel * work.value_bytes,
                                work.n_sent_channel > 0 ? 1 : 0));
    const auto add_transition = [&](const std::string& name, size_t level, bool is_pool) {
        const double s = real(config.strides[level]), fine = real(config.width[level]);
        const double coarse = real(config.width[level + 1]);
        const double flops = is_pool ? coarse * s * (fine + d) : s * fine * (coarse + s * d);
        list.push_back({name + "proj", real(work.levels[level + 1].n_slot) * 2 * flops, 0, 0, 0});
    };
    for (size_t l = 0; l < config.encoders.size(); ++l) {
        add_stage(config.encoders[l], work.levels[l], work.moves, list);
        const bool is_pooled = l < config.strides.size() && config.strides[l] > 1;
        if (is_pooled) add_transition(pool_name(config, static_cast<int64_t>(l)), l, true);
    }
    for (size_t l = config.decoders.size(); l-- > 0;) {
        add_transition(unpool_name(config, static_cast<int64_t>(l)), l, false);
        add_stage(config.decoders[l], work.levels[l], work.moves, list);
    }
    if (config.has_head())
        list.push_back({"pred_head", real(work.n_point) * 2 * c * (c + real(config.n_output)),
                        real(work.n_point) * c, 0, 0});
    list.push_back(scatter_cost("outputs to solver order",
                                work.n_point * config.n_out() * work.value_bytes, 1));
    return list;
}

std::vector<std::string> notes_of(const Config& config, int64_t n_point, int64_t n_slot,
                                  bool is_reproducible) {
    std::vector<std::string> notes;
    notes.push_back(std::to_string(n_point) + " points occupy " + std::to_string(n_slot) +
                    " slots of a ball tree with " + std::to_string(config.n_stride() + 1) +
                    " levels");
    if (is_reproducible) {
        notes.push_back(
            "reproducible: results equal the fast mode's; messages to a point are added in the "
            "order of the ids of their sources");
    }
    return notes;
}

}  // namespace surrogate::impl::bsa::erwin
