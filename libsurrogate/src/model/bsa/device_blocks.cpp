// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/device_blocks.hpp"

namespace surrogate::impl::bsa {

using kernels::DeviceActivation;
using kernels::DeviceLinear;
using kernels::LinearArgs;
using kernels::row_tiles;
using kernels::Stream;
using kernels::bsa::AttendArgs;
using kernels::bsa::HeadRows;
using kernels::bsa::StartArgs;

LinearArgs DeviceBlocks::pass(const DeviceLinear& layer, int64_t n_row) const {
    return pass_of(layer, weights_.operand(), row_tiles(n_row));
}

HeadRows DeviceBlocks::part(const LayerRows& rows, int64_t part) const {
    const DeviceWidths& w = weights_.widths();
    const auto head = static_cast<int32_t>(w.heads.n_dim_padded);
    return {rows.work, w.qkv.width, 1, 0, static_cast<int32_t>(part * config_.n_head * head), head};
}

void DeviceBlocks::project(const DeviceLayer& layer, const LayerRows& rows, const float* from,
                           Stream stream) const {
    const DeviceWidths& w = weights_.widths();
    StartArgs start;
    start.operand = weights_.operand();
    start.n_slot = rows.n_slot;
    start.n_axis = config_.n_axis;
    start.slots = rows.order;
    start.x = from;
    start.width = w.nodes.width;
    start.norm = layer.norm1;
    start.n_norm = static_cast<int32_t>(config_.n_channel);
    start.relative = rows.relative;
    start.weight = layer.position;
    start.bias = layer.position_bias;
    start.to = rows.u;
    kernels_.start(device_.properties(), start, stream);

    const auto from_u = [&](const DeviceLinear& to_layer, float* to) {
        LinearArgs args = pass(to_layer, rows.n_slot);
        args.pieces = rows.u;
        args.in_groups = w.nodes.width / 8;
        args.to_stream = to;
        run(args, stream);
    };
    from_u(layer.qkv, rows.work);
    if (layer.gates.layer) from_u(layer.gates, rows.gates);
}

AttendArgs DeviceBlocks::to_slots(const LayerRows& rows) const {
    AttendArgs args;
    args.operand = weights_.operand();
    args.n_query = args.n_key = rows.n_slot;
    args.n_head = static_cast<int32_t>(config_.n_head);
    args.head_groups = static_cast<int32_t>(weights_.widths().head_groups());
    args.queries = part(rows, 0);
    args.keys = part(rows, 1);
    args.values = part(rows, 2);
    args.slots = rows.order;
    args.to = rows.y;
    return args;
}

AttendArgs DeviceBlocks::to_ball(const DeviceLayer& layer, const LayerRows& rows) const {
    AttendArgs args = to_slots(rows);
    args.kind = AttendArgs::Keys::ball;
    args.ball = rows.ball;
    args.relative = rows.relative;
    args.n_axis = static_cast<int32_t>(config_.n_axis);
    args.sigma = layer.sigma;
    return args;
}

/// Computes the passes after attention. The hidden channels overwrite queries, keys and values.
void DeviceBlocks::finish(const DeviceLayer& layer, const LayerRows& rows, Stream stream) const {
    LinearArgs out = pass(layer.out, rows.n_slot);
    out.stream = rows.y;
    out.to_stream = config_.is_single_layer ? rows.work : rows.x;
    out.adds = !config_.is_single_layer;
    run(out, stream);
    if (config_.is_single_layer) return;

    LinearArgs in = pass(layer.mlp_in, rows.n_slot);
    in.stream = rows.x;
    in.norm = layer.norm2;
    in.n_norm = static_cast<int32_t>(config_.n_channel);
    in.activation = DeviceActivation::swiglu;
    in.to_pieces = rows.work;
    in.out_groups = weights_.widths().hidden.width / 8;
    run(in, stream);

    LinearArgs back = pass(layer.mlp_out, rows.n_slot);
    back.pieces = in.to_pieces;
    back.in_groups = in.out_groups;
    back.to_stream = rows.x;
    back.adds = true;
    run(back, stream);
}

void DeviceBlocks::run_ball(const DeviceLayer& layer, const LayerRows& rows, Stream stream) const {
    project(layer, rows, rows.x, stream);
    kernels_.attend(device_.properties(), to_ball(layer, rows), stream);
    finish(layer, rows, stream);
}

}  // namespace surrogate::impl::bsa
