// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/device_readout.hpp"

#include <algorithm>
#include <limits>

#include "libsurrogate/src/layers/linear_pass.hpp"

namespace surrogate::impl::sequoia {

using kernels::DeviceActivation;
using kernels::tile_rows;
using kernels::sequoia::CutArgs;
using kernels::sequoia::EndArgs;

namespace {

/// Nodes of a level that a rank owns at most.
int64_t most_owned(const Tree& tree, int l, int size) {
    int64_t most = 0;
    for (int rank = 0; rank < size; ++rank) most = std::max(most, tree.owned(l, rank).size());
    return most;
}

}  // namespace

void DeviceReadout::resize(const Tree& tree, const DeviceTree& levels,
                           const DeviceColumns& columns) {
    place_ = place_of(config_);
    tree_ = &tree;
    levels_ = &levels;
    columns_ = columns;
    first_sums_.assign(1, 0);
    for (int l = 0; l <= top(); ++l) {
        const int64_t n_sum = l > 0 ? levels.level(l).end - levels.level(l).begin : 0;
        first_sums_.push_back(first_sums_.back() + n_sum * config_.dim);
    }
    first_numbers_.assign(1, 0);
    for (int l = 0; l < tree.cut(); ++l) {
        const int64_t n = l < first_level() ? 0 : most_owned(tree, l, comm_.size());
        first_numbers_.push_back(first_numbers_.back() + n * config_.num_classes);
    }
}

bool DeviceReadout::reads(int l) const {
    return l == 0 ? config_.probe != Probe::virtual_nodes : config_.probe != Probe::leaves;
}

int64_t DeviceReadout::n_read() const {
    if (config_.probe == Probe::root) return std::min<int64_t>(tree_->n_leaf(), 1);
    int64_t n = 0;
    for (int l = 0; l <= top(); ++l) n += reads(l) ? tree_->level(l).n : 0;
    return n;
}

int64_t DeviceReadout::n_row() const {
    return place_ == Place::leaves ? -1 : place_ == Place::cloud ? 1 : n_read();
}

/// Tiles that pass through the head.
int64_t DeviceReadout::n_tile() const {
    if (place_ == Place::cloud) return 1;
    return place_ == Place::leaves ? levels_->n_leaf_tile() : levels_->n_tile() - first_tile();
}

int64_t DeviceReadout::first_tile() const {
    return place_ == Place::nodes && first_level() == 1 ? levels_->n_leaf_tile() : 0;
}

int64_t DeviceReadout::hidden_bytes() const {
    return kernels::operand_bytes(weights_.operand()) * n_tile() * tile_rows *
           widths().hidden.width;
}

int64_t DeviceReadout::work_bytes() const {
    const int64_t rows = is_mean() ? 4 * levels_->n_tile() * tile_rows * widths().nodes.width : 0;
    return std::max(rows, hidden_bytes() + 4 * n_tile() * tile_rows * widths().outputs.width);
}

void DeviceReadout::list_memory(PassList& passes) {
    if (is_mean()) sums_ = passes.memory<double>(8 * first_sums_.back());
    if (place_ != Place::cloud) return;
    const DeviceWidths& w = widths();
    cloud_ = passes.memory(4 * tile_rows * std::max(w.nodes.width, w.outputs.width));
    if (n_read() > 0) return;
    // Without nodes to read, a prediction is NaN.
    const std::vector<float> none(static_cast<size_t>(tile_rows * w.outputs.width),
                                  std::numeric_limits<float>::quiet_NaN());
    passes.write(cloud_, std::span<const float>(none));
}

int64_t DeviceReadout::part_bytes() const {
    if (comm_.size() == 1 || tree_->cut() == 0) return 0;
    if (is_mean()) return 8 * (1 + tree_->most_owned() * config_.dim);
    if (place_ != Place::nodes || first_level() >= tree_->cut()) return 0;
    return 4 * (1 + first_numbers_.back());
}

// ---- what an evaluation enqueues ---------------------------------------------------------------

/// y = head(norm(stream)); without a norm the rows are normalized already.
void DeviceReadout::list_head(PassList& passes, const float* stream,
                              const kernels::DeviceNorm& norm, const ReadoutMemory& memory) const {
    const DeviceLayers& layers = weights_.layers();
    const kernels::Operand operand = weights_.operand();
    const int64_t n_group = widths().hidden.width / 8;
    passes.pass(kernels_.linear, linear_pass(layers.head_in, operand, n_tile())
                                     .of(stream, norm, norm.weight ? config_.dim : 0)
                                     .then(DeviceActivation::relu)
                                     .to_pieces(memory.work, n_group)
                                     .args);
    passes.pass(kernels_.linear, linear_pass(layers.head_out, operand, n_tile())
                                     .of_pieces(memory.work, n_group)
                                     .to(y(memory))
                                     .args);
}

/// Nodes of level l to the columns: own leaves, or a level that all ranks hold.
void DeviceReadout::list_end(PassList& passes, int l, int64_t first_row,
                             const ReadoutMemory& memory) const {
    const Range own = place_ == Place::leaves ? tree_->owned(l) : tree_->level(l).held;
    const int64_t width = widths().outputs.width;
    const int64_t tile = levels_->level(l).first_tile - first_tile();
    passes.pass(kernels_.end, EndArgs{.k = config_.k,
                                      .level = levels_->level(l),
                                      .own_begin = own.begin,
                                      .own_end = own.end,
                                      .points = place_ == Place::leaves ? memory.points : nullptr,
                                      .first_row = first_row,
                                      .y = y(memory) + tile * tile_rows * width,
                                      .width = width,
                                      .columns = columns_.outputs,
                                      .n_column = columns_.n_output,
                                      .findings = columns_.findings});
}

/// Row 0 of a tile to the columns.
void DeviceReadout::list_cloud_end(PassList& passes, const float* y) const {
    passes.pass(kernels_.end,
                EndArgs{.k = config_.k,
                        .level = kernels::sequoia::device_level(config_.k, 1, 0, 1, 0),
                        .own_end = 1,
                        .y = y,
                        .width = widths().outputs.width,
                        .columns = columns_.outputs,
                        .n_column = columns_.n_output,
                        .findings = columns_.findings});
}

CutArgs DeviceReadout::cut_args(int l, const ReadoutMemory& memory) const {
    const Range own = tree_->owned(l);
    CutArgs args;
    args.k = config_.k;
    args.level = levels_->level(l);
    args.own_begin = own.begin;
    args.own_end = own.end;
    args.parts = memory.parts;
    args.begins = memory.begins + l * (comm_.size() + 1);
    args.rank = comm_.rank();
    args.n_rank = comm_.size();
    args.findings = columns_.findings;
    return args;
}

/// Lists the sums of the levels above the leaves. Sums of the shared level are received from the
/// owner ranks.
void DeviceReadout::list_sums(PassList& passes, const ReadoutMemory& memory) const {
    for (int l = 1; l <= top(); ++l) {
        const Range nodes = l > tree_->cut() ? tree_->level(l).held : tree_->owned(l);
        double* const sums = sums_ + first_sums_[static_cast<size_t>(l)];
        double* const below = sums_ + first_sums_[static_cast<size_t>(l - 1)];
        passes.pass(kernels_.add_up,
                    kernels::sequoia::SumArgs{.k = config_.k,
                                              .children = levels_->level(l - 1),
                                              .level = levels_->level(l),
                                              .begin = nodes.begin,
                                              .end = nodes.end,
                                              .reads = reads(l),
                                              .reads_leaves = reads(0),
                                              .rows = reinterpret_cast<const float*>(memory.work),
                                              .child_sums = l > 1 ? below : nullptr,
                                              .sums = sums,
                                              .n_channel = config_.dim,
                                              .width = widths().nodes.width});
        if (l != tree_->cut() || part_bytes() == 0) continue;
        CutArgs cut = cut_args(l, memory);
        cut.channels = widths().nodes;
        cut.sums = sums;
        cut.part_size = part_bytes() / 8;
        passes.pass(kernels_.pack, cut);
        passes.gather(gather(memory));
        passes.pass(kernels_.unpack, cut);
    }
}

/// The prediction of a cloud from the mean of its nodes.
void DeviceReadout::list_mean(PassList& passes, const ReadoutMemory& memory) const {
    const int64_t width = widths().nodes.width;
    auto* const rows = reinterpret_cast<float*>(memory.work);
    passes.pass(kernels_.normalise, kernels::sequoia::NormArgs{.n_tile = levels_->n_tile(),
                                                               .x = memory.x,
                                                               .norm = weights_.layers().norm,
                                                               .n_channel = config_.dim,
                                                               .width = width,
                                                               .to = rows});
    list_sums(passes, memory);
    const double* const sums = sums_ + first_sums_[static_cast<size_t>(top())];
    passes.pass(kernels_.mean, kernels::sequoia::MeanArgs{.sums = top() > 0 ? sums : nullptr,
                                                          .row = top() > 0 ? nullptr : rows,
                                                          .n = n_read(),
                                                          .n_channel = config_.dim,
                                                          .width = width,
                                                          .to = cloud_});
    list_head(passes, cloud_, {}, memory);
    list_cloud_end(passes, y(memory));
}

/// Predictions of all nodes: levels below the shared one come from their owners, the others are the
/// same on all ranks.
void DeviceReadout::list_nodes(PassList& passes, const ReadoutMemory& memory) const {
    list_head(passes, memory.x + first_tile() * tile_rows * widths().nodes.width,
              weights_.layers().norm, memory);
    const auto cut_of = [&](int l) {
        CutArgs args = cut_args(l, memory);
        args.channels = widths().outputs;
        args.stream = y(memory);
        args.first_tile = first_tile();
        args.part_size = part_bytes() / 4;
        args.first = first_numbers_[static_cast<size_t>(l)];
        return args;
    };
    const bool gathers = part_bytes() > 0;
    if (gathers) {
        for (int l = first_level(); l < tree_->cut(); ++l) passes.pass(kernels_.pack, cut_of(l));
        passes.gather(gather(memory));
        CutArgs flags = cut_of(first_level());
        flags.level.n = 0;
        passes.pass(kernels_.unpack, flags);
    }
    int64_t first_row = 0;
    for (int l = first_level(); l <= top(); first_row += tree_->level(l++).n) {
        if (l >= tree_->cut() || !gathers) {
            list_end(passes, l, first_row, memory);
            continue;
        }
        passes.pass(kernels_.deliver,
                    kernels::sequoia::DeliverArgs{cut_of(l), first_row, columns_.outputs,
                                                  columns_.n_output});
    }
}

void DeviceReadout::list(PassList& passes, const ReadoutMemory& memory) const {
    if (place_ == Place::nodes) return list_nodes(passes, memory);
    if (place_ == Place::cloud && n_read() == 0) return list_cloud_end(passes, cloud_);
    if (is_mean()) return list_mean(passes, memory);
    const int64_t first =
        place_ == Place::leaves ? 0 : levels_->level(top()).first_tile * tile_rows;
    list_head(passes, memory.x + first * widths().nodes.width, weights_.layers().norm, memory);
    if (place_ == Place::leaves) return list_end(passes, 0, 0, memory);
    list_cloud_end(passes, y(memory));
}

}  // namespace surrogate::impl::sequoia
