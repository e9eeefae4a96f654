// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/device_readout.hpp"

#include <algorithm>
#include <limits>

namespace surrogate::impl::sequoia {

using kernels::DeviceActivation;
using kernels::LinearArgs;
using kernels::Stream;
using kernels::tile_rows;
using kernels::sequoia::CutArgs;
using kernels::sequoia::EndArgs;

namespace {

/// Returns the largest number of nodes of a level that a rank owns.
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

/// Returns the number of tiles that pass through the head.
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

void DeviceReadout::add_memory(DeviceArena& arena) {
    if (is_mean()) sums_ = arena.add(8 * first_sums_.back());
    if (place_ == Place::cloud) {
        const int64_t width = std::max(widths().nodes.width, widths().outputs.width);
        cloud_ = arena.add(4 * tile_rows * width);
    }
}

/// Sets predictions to NaN if no node is read.
void DeviceReadout::fill_memory(ArenaWriter& put) const {
    if (place_ != Place::cloud || n_read() > 0) return;
    put(cloud_, std::vector<float>(static_cast<size_t>(tile_rows * widths().outputs.width),
                                   std::numeric_limits<float>::quiet_NaN()));
}

int64_t DeviceReadout::part_bytes() const {
    if (comm_.size() == 1 || tree_->cut() == 0) return 0;
    if (is_mean()) return 8 * (1 + tree_->most_owned() * config_.dim);
    if (place_ != Place::nodes || first_level() >= tree_->cut()) return 0;
    return 4 * (1 + first_numbers_.back());
}

DeviceGather DeviceReadout::gather(void* parts, const int64_t* begins) {
    begins_ = begins;
    gather_ = {parts, part_bytes(), static_cast<char*>(parts) + comm_.rank() * part_bytes()};
    return gather_;
}

// ---- passes of an evaluation -------------------------------------------------------------------

/// Computes y = head(norm(stream)), or y = head(stream) for rows that are already normalized.
void DeviceReadout::predict(const float* stream, bool is_normed, const ReadoutMemory& memory,
                            Stream queue) const {
    const DeviceLayers& layers = weights_.layers();
    LinearArgs in = pass_of(layers.head_in, weights_.operand(), n_tile());
    in.stream = stream;
    if (!is_normed) {
        in.norm = layers.norm;
        in.n_norm = static_cast<int32_t>(config_.dim);
    }
    in.activation = DeviceActivation::relu;
    in.to_pieces = memory.work;
    in.out_groups = widths().hidden.width / 8;
    kernels_.linear(device_.properties(), in, queue);

    LinearArgs out = pass_of(layers.head_out, weights_.operand(), n_tile());
    out.pieces = in.to_pieces;
    out.in_groups = in.out_groups;
    out.to_stream = y(memory);
    kernels_.linear(device_.properties(), out, queue);
}

/// Copies predictions of level l to the columns: own leaves, or a level that all ranks hold.
void DeviceReadout::end(int l, int64_t first_row, const ReadoutMemory& memory, Stream queue) const {
    const Range own = place_ == Place::leaves ? tree_->owned(l) : tree_->level(l).held;
    EndArgs end;
    end.k = config_.k;
    end.level = levels_->level(l);
    end.own_begin = own.begin;
    end.own_end = own.end;
    end.points = place_ == Place::leaves ? memory.points : nullptr;
    end.first_row = first_row;
    end.y = y(memory) + (end.level.first_tile - first_tile()) * tile_rows * widths().outputs.width;
    end.width = widths().outputs.width;
    end.columns = columns_.outputs;
    end.n_column = columns_.n_output;
    end.findings = columns_.findings;
    kernels_.end(device_.properties(), end, queue);
}

/// Copies row 0 of a tile to the columns.
void DeviceReadout::end_cloud(const float* y, Stream queue) const {
    EndArgs end;
    end.k = config_.k;
    end.level = kernels::sequoia::device_level(config_.k, 1, 0, 1, 0);
    end.own_end = 1;
    end.y = y;
    end.width = widths().outputs.width;
    end.columns = columns_.outputs;
    end.n_column = columns_.n_output;
    end.findings = columns_.findings;
    kernels_.end(device_.properties(), end, queue);
}

CutArgs DeviceReadout::cut_args(int l) const {
    const Range own = tree_->owned(l);
    CutArgs args;
    args.k = config_.k;
    args.level = levels_->level(l);
    args.own_begin = own.begin;
    args.own_end = own.end;
    args.parts = gather_.values;
    args.begins = begins_ + l * (comm_.size() + 1);
    args.rank = comm_.rank();
    args.n_rank = comm_.size();
    args.findings = columns_.findings;
    return args;
}

/// Adds up the levels above the leaves; sums of the shared level are gathered from their owners.
void DeviceReadout::add_up(DeviceSteps& steps, const DeviceArena& arena,
                           const ReadoutMemory& memory) const {
    auto* const sums = arena.at<double>(sums_);
    for (int l = 1; l <= top(); ++l) {
        const Range nodes = l > tree_->cut() ? tree_->level(l).held : tree_->owned(l);
        kernels::sequoia::SumArgs args;
        args.k = config_.k;
        args.children = levels_->level(l - 1);
        args.level = levels_->level(l);
        args.begin = nodes.begin;
        args.end = nodes.end;
        args.reads = reads(l);
        args.reads_leaves = reads(0);
        args.rows = reinterpret_cast<const float*>(memory.work);
        if (l > 1) args.child_sums = sums + first_sums_[static_cast<size_t>(l - 1)];
        args.sums = sums + first_sums_[static_cast<size_t>(l)];
        args.n_channel = config_.dim;
        args.width = widths().nodes.width;
        steps.compute([&] { kernels_.add_up(device_.properties(), args, steps.stream()); });
        if (l != tree_->cut() || part_bytes() == 0) continue;
        CutArgs cut = cut_args(l);
        cut.channels = widths().nodes;
        cut.sums = args.sums;
        cut.part_size = part_bytes() / 8;
        steps.compute([&] { kernels_.pack(device_.properties(), cut, steps.stream()); });
        steps.gather(gather_);
        steps.compute([&] { kernels_.unpack(device_.properties(), cut, steps.stream()); });
    }
}

void DeviceReadout::read_mean(DeviceSteps& steps, const DeviceArena& arena,
                              const ReadoutMemory& memory) const {
    steps.compute([&] {
        kernels::sequoia::NormArgs norm;
        norm.n_tile = levels_->n_tile();
        norm.x = memory.x;
        norm.norm = weights_.layers().norm;
        norm.n_channel = config_.dim;
        norm.width = widths().nodes.width;
        norm.to = reinterpret_cast<float*>(memory.work);
        kernels_.normalise(device_.properties(), norm, steps.stream());
    });
    add_up(steps, arena, memory);
    steps.compute([&] {
        kernels::sequoia::MeanArgs mean;
        if (top() > 0) {
            mean.sums = arena.at<double>(sums_) + first_sums_[static_cast<size_t>(top())];
        } else {
            mean.row = reinterpret_cast<const float*>(memory.work);
        }
        mean.n = n_read();
        mean.n_channel = config_.dim;
        mean.width = widths().nodes.width;
        mean.to = arena.at<float>(cloud_);
        kernels_.mean(device_.properties(), mean, steps.stream());
        predict(mean.to, true, memory, steps.stream());
        end_cloud(y(memory), steps.stream());
    });
}

/// Computes the rows of all probed nodes. Levels below the shared level are gathered from their
/// owners, the others are computed identically on all ranks.
void DeviceReadout::read_nodes(DeviceSteps& steps, const ReadoutMemory& memory) const {
    const int64_t width = widths().nodes.width;
    steps.compute([&] {
        predict(memory.x + first_tile() * tile_rows * width, false, memory, steps.stream());
    });
    const auto cut_of = [&](int l) {
        CutArgs args = cut_args(l);
        args.channels = widths().outputs;
        args.stream = y(memory);
        args.first_tile = first_tile();
        args.part_size = part_bytes() / 4;
        args.first = first_numbers_[static_cast<size_t>(l)];
        return args;
    };
    const bool gathers = part_bytes() > 0;
    if (gathers) {
        for (int l = first_level(); l < tree_->cut(); ++l)
            steps.compute([&] { kernels_.pack(device_.properties(), cut_of(l), steps.stream()); });
        steps.gather(gather_);
        steps.compute([&] {
            CutArgs flags = cut_of(first_level());
            flags.level.n = 0;
            kernels_.unpack(device_.properties(), flags, steps.stream());
        });
    }
    steps.compute([&] {
        int64_t first_row = 0;
        for (int l = first_level(); l <= top(); first_row += tree_->level(l++).n) {
            if (l >= tree_->cut() || !gathers) {
                end(l, first_row, memory, steps.stream());
                continue;
            }
            const kernels::sequoia::DeliverArgs args{cut_of(l), first_row, columns_.outputs,
                                                     columns_.n_output};
            kernels_.deliver(device_.properties(), args, steps.stream());
        }
    });
}

void DeviceReadout::enqueue(DeviceSteps& steps, const DeviceArena& arena,
                            const ReadoutMemory& memory) const {
    if (place_ == Place::nodes) return read_nodes(steps, memory);
    if (is_mean() && n_read() > 0) return read_mean(steps, arena, memory);
    steps.compute([&] {
        if (place_ == Place::cloud && n_read() == 0)
            return end_cloud(arena.at<float>(cloud_), steps.stream());
        if (place_ == Place::leaves) {
            predict(memory.x, false, memory, steps.stream());
            return end(0, 0, memory, steps.stream());
        }
        const int64_t first = levels_->level(top()).first_tile * tile_rows;
        predict(memory.x + first * widths().nodes.width, false, memory, steps.stream());
        end_cloud(y(memory), steps.stream());
    });
}

}  // namespace surrogate::impl::sequoia
