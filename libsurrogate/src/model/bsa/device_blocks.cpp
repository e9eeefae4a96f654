// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/device_blocks.hpp"

namespace surrogate::impl::bsa {

using kernels::DeviceActivation;
using kernels::Stream;
using kernels::bsa::AttendArgs;
using kernels::bsa::BeginArgs;
using kernels::bsa::EndArgs;
using kernels::bsa::HeadRows;
using kernels::bsa::StartArgs;

BeginArgs begin_args(Features features, const DeviceColumns& columns) {
    using Encoding = BeginArgs::Features;
    BeginArgs begin;
    begin.features = features == Features::fourier  ? Encoding::fourier
                     : features == Features::linear ? Encoding::linear
                                                    : Encoding::given;
    begin.columns = columns.inputs;
    begin.findings = columns.findings;
    begin.outside = columns.outside;
    return begin;
}

EndArgs end_args(const DeviceColumns& columns) {
    EndArgs end;
    end.columns = columns.outputs;
    end.n_column = columns.n_output;
    end.findings = columns.findings;
    return end;
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

    const int64_t n_group = w.nodes.width / 8;
    run(linear(layer.qkv, rows.n_slot).of_pieces(rows.u, n_group).to(rows.work), stream);
    if (layer.gates.layer)
        run(linear(layer.gates, rows.n_slot).of_pieces(rows.u, n_group).to(rows.gates), stream);
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
    const LinearPass out = linear(layer.out, rows.n_slot).of(rows.y);
    if (config_.is_single_layer) {
        run(out.to(rows.work), stream);
        return;
    }
    run(out.adds_to(rows.x), stream);
    const int64_t hidden_groups = weights_.widths().hidden.width / 8;
    run(linear(layer.mlp_in, rows.n_slot)
            .of(rows.x, layer.norm2, config_.n_channel)
            .then(DeviceActivation::swiglu)
            .to_pieces(rows.work, hidden_groups),
        stream);
    run(linear(layer.mlp_out, rows.n_slot).of_pieces(rows.work, hidden_groups).adds_to(rows.x),
        stream);
}

void DeviceBlocks::run_ball(const DeviceLayer& layer, const LayerRows& rows, Stream stream) const {
    project(layer, rows, rows.x, stream);
    kernels_.attend(device_.properties(), to_ball(layer, rows), stream);
    finish(layer, rows, stream);
}

}  // namespace surrogate::impl::bsa
