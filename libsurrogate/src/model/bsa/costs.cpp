// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/costs.hpp"

#include <cmath>

#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl::bsa {

namespace {

double real(int64_t n) {
    return static_cast<double>(n);
}

/// Flops per slot and layer, by the formulas of the specification (a multiply-add counts 2).
struct SlotFlops {
    double start = 0;       ///< position_proj, qkv, gates
    double compress = 0;    ///< networks that compress blocks
    double ball = 0;        ///< scores and averages
    double compressed = 0;  ///< scores and averages, and the scores of the choice
    double selected = 0;
    double finish = 0;  ///< out_proj, SwiGLU

    double all_but_compressed() const { return start + compress + ball + selected + finish; }
};

SlotFlops slot_flops(const Config& config, int64_t n_slot, int64_t ball, int64_t n_choice) {
    const double c = real(config.n_channel), l = real(config.block_size);
    SlotFlops f;
    f.start = 6 * c * c + (config.has_balls() ? 2 * real(config.n_axis) * c : 0);
    f.finish = 2 * c * c + 6 * c * real(config.n_hidden);
    f.ball = 4 * c * real(config.has_balls() ? ball : n_slot);
    if (!config.is_sparse()) return f;
    const double n_block = real(n_slot) / l;
    if (config.has_token_gates) f.start += 6 * real(config.n_head) * c;
    const int fields = (config.compresses_by_mlp ? 2 : 0) + (config.has_query_mlp ? 1 : 0);
    f.compress = fields * 2 * c * real(config.n_coarse_hidden) * (1 + 1 / l);
    f.compressed = 4 * c * n_block / (config.compresses_groups ? l : 1) +
                   2 * c * n_block / real(config.group_size);
    f.selected = 4 * c * real(n_choice) * l;
    return f;
}

void add_layer(const Config& config, const Work& work, int64_t layer,
               std::vector<LayerCost>& list) {
    const std::string name = "layers." + std::to_string(layer);
    const double n = real(work.n_slot), n_head = real(config.n_head);
    const SlotFlops f = slot_flops(config, work.n_slot_global, work.ball, work.n_choice);
    if (config.is_layer_rotated(layer))
        list.push_back(scatter_cost(name + " rotated and back", work.turn_bytes, work.turns));
    if (!config.is_sparse()) {
        const double keys = real(config.has_balls() ? work.ball : work.n_slot_global);
        list.push_back({name + " attention", n * (f.start + f.ball), n * n_head * keys,
                        work.ring.bytes, work.ring.collectives});
        list.push_back({name + " mlp", n * f.finish, n * real(config.n_hidden), 0, 0});
        return;
    }
    const double blocks = real(work.n_slot_global / config.block_size) /
                          (config.compresses_groups ? real(config.block_size) : 1);
    list.push_back({name + " qkv, coarse", n * (f.start + f.compress), 0, work.coarse_bytes, 1});
    list.push_back({name + " ball", n * f.ball, n * n_head * real(work.ball), 0, 0});
    list.push_back({name + " compressed, choice", n * f.compressed, n * n_head * blocks, 0, 0});
    const Work::Traffic& fetch = work.fetches[static_cast<size_t>(layer)];
    list.push_back({name + " selected, mlp", n * (f.selected + f.finish),
                    n * (n_head * real(work.n_choice * config.block_size) + 3 * n_head +
                         real(config.n_hidden)),
                    fetch.bytes, fetch.collectives});
}

}  // namespace

std::vector<LayerCost> costs_of(const Config& config, const Work& work) {
    const double n = real(work.n_point), c = real(config.n_channel);
    std::vector<LayerCost> list;
    list.push_back(error_flag_cost("error flag of every rank"));
    if (work.n_given > 0) {
        list.push_back(scatter_cost("inputs to tree order",
                                    work.n_solver * work.n_given * work.value_bytes, 1));
    }
    if (!config.is_single_layer) {
        const double positions = config.features == Features::given
                                     ? 0
                                     : 2 * real(config.n_axis) * real(config.n_feature);
        list.push_back({"embed", n * (positions + 2 * real(config.n_feature) * c), 0, 0, 0});
    }
    for (int64_t layer = 0; layer < config.depth; ++layer) add_layer(config, work, layer, list);
    if (!config.is_single_layer)
        list.push_back({"pred_head", n * 2 * c * (c + real(config.n_output)), 0, 0, 0});
    list.push_back(scatter_cost("outputs to solver order",
                                work.n_point * config.n_output * work.value_bytes, 1));
    return list;
}

void keep_work_of_one_rank(std::vector<LayerCost>& list) {
    std::erase_if(list, [](const LayerCost& cost) { return cost.kind != LayerCost::Kind::layer; });
    for (LayerCost& cost : list) cost.bytes_sent = cost.collectives = cost.messages = 0;
}

std::vector<std::string> notes_of(const Config& config, int64_t n_point, int64_t n_slot, int n_rank,
                                  bool is_reproducible) {
    std::vector<std::string> notes;
    notes.push_back(std::to_string(n_point) + " points occupy " + std::to_string(n_slot) +
                    " slots of a ball tree" +
                    (config.is_rotated ? "; odd layers use a rotated tree" : ""));
    if (is_reproducible) {
        notes.push_back(
            "reproducible: results equal the fast mode's; equal points are ordered by id");
    }
    if (!config.is_sparse() || n_slot == 0) return notes;
    const int64_t ball = std::min(config.ball_size, n_slot);
    const int64_t n_choice = std::min(config.n_choice, n_slot / config.block_size);
    const SlotFlops f = slot_flops(config, n_slot, ball, n_choice);
    notes.push_back("compressed attention grows with the square of the number of points: " +
                    number_text(real(n_slot) * f.compressed) + " of " +
                    number_text(real(n_slot) * (f.compressed + f.all_but_compressed())) +
                    " flops per layer here, over all ranks");
    if (!config.compresses_groups) {
        const double from = real(n_slot) * f.all_but_compressed() / std::max(f.compressed, 1.0);
        notes.push_back(
            "it exceeds the rest from " + number_text(std::ceil(from)) +
            " slots on; for more slots train with use_coarse_q_attn (group compression), "
            "whose compressed attention costs " +
            std::to_string(config.block_size) + " times less");
    }
    if (n_rank > 1) {
        notes.push_back(
            "chosen blocks of other ranks: bytes of the last run, or the maximum before the "
            "first run");
    }
    return notes;
}

}  // namespace surrogate::impl::bsa
