// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/device_sparse.hpp"

namespace surrogate::impl::bsa {

using kernels::DeviceActivation;
using kernels::Stream;
using kernels::bsa::AttendArgs;
using kernels::bsa::ChooseArgs;
using kernels::bsa::FoldArgs;
using kernels::bsa::HeadRows;

void DeviceSparse::add(kernels::Operand operand) {
    const int64_t n_slot = plan_.shape().n_local();
    const int64_t n_row = kernels::padded_rows(n_block() * config_.n_head);
    if (config_.has_token_gates)
        gates_ = arena_.add(4 * kernels::padded_rows(n_slot) * widths_.gates.width);
    folded_ = arena_.add(4 * n_row * widths_.folded.width);
    hidden_ = arena_.add(kernels::operand_bytes(operand) * n_row * widths_.coarse_hidden.width);
    if (config_.has_query_mlp) q_ = arena_.add(4 * n_row * widths_.coarse.width);
    k_ = arena_.add(4 * n_row * widths_.coarse.width);
    v_ = arena_.add(4 * n_row * widths_.coarse.width);
    chosen_ = arena_.add(4 * n_slot / config_.group_size * config_.n_head * n_choice());
}

void DeviceSparse::compress(const DeviceLayer& layer, const LayerRows& rows, Stream stream) const {
    compress(layer.k_coarse, blocks_.part(rows, 1), k_, stream);
    compress(layer.v_coarse, blocks_.part(rows, 2), v_, stream);
    if (config_.has_query_mlp) compress(layer.q_coarse, blocks_.part(rows, 0), q_, stream);
}

void DeviceSparse::compress(const DeviceCoarse& by, const HeadRows& from, int64_t to,
                            Stream stream) const {
    FoldArgs fold;
    fold.is_mean = by.is_mean();
    fold.n_block = n_block();
    fold.l = config_.block_size;
    fold.n_head = static_cast<int32_t>(config_.n_head);
    fold.n_dim = static_cast<int32_t>(config_.head_dim());
    fold.from = from;
    fold.to = arena_.at<float>(fold.is_mean ? to : folded_);
    fold.width = fold.is_mean ? widths_.coarse.width : widths_.folded.width;
    kernels_.fold(device_.properties(), fold, stream);
    if (fold.is_mean) return;

    const int64_t n_row = n_block() * config_.n_head;
    const int64_t hidden_groups = widths_.coarse_hidden.width / 8;
    void* const hidden = arena_.at<void>(hidden_);
    blocks_.run(blocks_.linear(by.in, n_row)
                    .of(fold.to)
                    .then(DeviceActivation::relu)
                    .to_pieces(hidden, hidden_groups),
                stream);
    blocks_.run(
        blocks_.linear(by.out, n_row).of_pieces(hidden, hidden_groups).to(arena_.at<float>(to)),
        stream);
}

void DeviceSparse::choose(const LayerRows& rows, kernels::DeviceFindings* findings,
                          Stream stream) const {
    const SlotShape& shape = plan_.shape();
    ChooseArgs args;
    args.n_group = rows.n_slot / config_.group_size;
    args.g = config_.has_query_mlp ? 1 : config_.group_size;
    args.n_block = n_block_global();
    args.first_ball = shape.own.begin / shape.ball;
    args.n_choice = static_cast<int32_t>(n_choice());
    args.n_head = static_cast<int32_t>(config_.n_head);
    args.n_dim = static_cast<int32_t>(config_.head_dim());
    if (config_.avoids_own_ball) {
        args.groups_of_ball = shape.ball / config_.group_size;
        args.blocks_of_ball = shape.ball / config_.block_size;
    }
    args.queries =
        config_.has_query_mlp ? coarse_rows(arena_.at<float>(q_)) : blocks_.part(rows, 0);
    args.keys = keys();
    args.to = arena_.at<int32_t>(chosen_);
    args.findings = findings;
    kernels_.choose(device_.properties(), args, stream);
}

/// Sets the gate of a branch: 0 ball, 1 compressed, 2 selected.
void DeviceSparse::set_gate(const DeviceLayer& layer, int64_t branch, AttendArgs& args) const {
    const GateRows rows{config_.n_head};
    args.gates = layer.static_gates ? layer.static_gates : gates();
    args.gate_width = layer.static_gates ? 0 : widths_.gates.width;
    args.gate_first = static_cast<int32_t>(rows.row(0, branch));
    args.gate_step = branch < 2 ? 2 : 1;
    args.adds = branch > 0;
}

void DeviceSparse::attend(const DeviceLayer& layer, const LayerRows& rows, const AttendArgs& to_all,
                          kernels::DeviceFindings* findings, Stream stream) const {
    choose(rows, findings, stream);

    AttendArgs ball = blocks_.to_ball(layer, rows);
    set_gate(layer, 0, ball);
    kernels_.attend(device_.properties(), ball, stream);

    AttendArgs compressed = to_all;
    compressed.n_key = n_block_global();
    compressed.keys = keys();
    compressed.values = values();
    if (config_.compresses_groups) {
        compressed.n_query = n_block();
        compressed.queries = coarse_rows(arena_.at<float>(q_));
        compressed.repeats = config_.block_size;
    }
    set_gate(layer, 1, compressed);
    kernels_.attend(device_.properties(), compressed, stream);

    AttendArgs selected = to_all;
    selected.kind = AttendArgs::Keys::chosen;
    selected.chosen = arena_.at<int32_t>(chosen_);
    selected.g = config_.group_size;
    selected.l = config_.block_size;
    selected.n_choice = static_cast<int32_t>(n_choice());
    set_gate(layer, 2, selected);
    kernels_.attend(device_.properties(), selected, stream);
}

}  // namespace surrogate::impl::bsa
