// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/device_sharing.hpp"

#include <algorithm>

#include "kernels/device/fragments.hpp"

namespace surrogate::impl::bsa {

using kernels::MoveArgs;

void DeviceSharing::plan_moves() {
    if (!turns()) return;
    const TreePlan<float>::Rotation turn = plan_.rotation();
    comm_.agree([&] {
        moves_ = {slot_moves(turn.targets, turn.sources, plan_.begins(), comm_.rank()),
                  slot_moves(turn.sources, turn.targets, plan_.begins(), comm_.rank())};
    });
}

void DeviceSharing::add() {
    if (is_alone()) return;
    const int64_t n_rank = comm_.size(), n_slot = plan_.shape().n_slot;
    int64_t parts = 0;
    if (has_slots()) {
        parts = n_rank * slot_bytes();
        all_slots_ = arena_.add(4 * kernels::padded_rows(n_slot) * slot_channels());
        slot_rows_ = arena_.add(4 * n_slot);
    }
    if (has_blocks()) {
        const int64_t n_byte = 4 * kernels::padded_rows(n_block_row()) * widths_.coarse.width;
        parts = std::max(parts, n_rank * block_bytes());
        all_k_ = arena_.add(n_byte);
        all_v_ = arena_.add(n_byte);
        block_rows_ = arena_.add(4 * n_block_row());
    }
    for (size_t i = 0; i < 2 && turns(); ++i) {
        const int64_t n_own = plan_.shape().n_local(), n_row = moves_[i].n_row_taken() + n_own;
        parts = std::max(parts, 4 * n_row * std::max(widths_.nodes.width, widths_.heads.width));
        given_[i] = arena_.add(4 * n_own);
        taken_[i] = arena_.add(4 * n_own);
    }
    parts_ = arena_.add(parts);
}

void DeviceSharing::fill(ArenaWriter& put) const {
    if (has_slots()) put(slot_rows_, rows_of_parts(plan_.begins(), 1, part_slots()));
    if (has_blocks()) {
        std::vector<int64_t> begins(plan_.begins().begin(), plan_.begins().end());
        for (int64_t& begin : begins) begin /= config_.block_size;
        put(block_rows_, rows_of_parts(begins, config_.n_head, 2 * part_blocks()));
    }
    for (size_t i = 0; i < 2 && turns() && plan_.shape().n_local() > 0; ++i) {
        put(given_[i], moves_[i].given);
        put(taken_[i], moves_[i].taken);
    }
}

void DeviceSharing::connect(kernels::DeviceFindings* findings) {
    findings_ = findings;
    if (is_alone()) return;
    char* const parts = arena_.at<char>(parts_);
    const auto add_gather = [&](int64_t n_byte) {
        gathers_.push_back({parts, n_byte, parts + comm_.rank() * n_byte});
    };
    if (has_slots()) add_gather(slot_bytes());
    if (has_blocks()) add_gather(block_bytes());
    for (size_t i = 0; i < 2 && turns(); ++i) {
        const int64_t row_bytes = 4 * (i == 0 ? widths_.nodes : widths_.heads).width;
        given_bytes_[i] = moves_[i].n_given;
        taken_bytes_[i] = moves_[i].n_taken;
        for (int64_t& n : given_bytes_[i]) n *= row_bytes;
        for (int64_t& n : taken_bytes_[i]) n *= row_bytes;
        exchanges_.push_back({{parts + moves_[i].n_row_taken() * row_bytes, given_bytes_[i]},
                              {parts, taken_bytes_[i]}});
    }
}

void DeviceSharing::share_slots(float* stream, int64_t width, int64_t first,
                                DeviceSteps& steps) const {
    const DeviceGather& gather = gathers_[0];
    MoveArgs args;
    args.n_row = plan_.shape().n_local();
    args.stream = stream;
    args.width = width;
    args.first = static_cast<int32_t>(first);
    args.n_channel = static_cast<int32_t>(slot_channels());
    args.memory = static_cast<float*>(gather.part);
    args.findings = findings_;
    move(args, steps);
    steps.gather(gather);
    args.gives = false;
    args.n_row = plan_.shape().n_slot;
    args.rows = arena_.at<int32_t>(slot_rows_);
    args.stream = slots();
    args.width = slot_channels();
    args.first = 0;
    args.memory = arena_.at<float>(parts_);
    move(args, steps);
}

/// Gathers keys and values of blocks. Each part holds keys before values.
void DeviceSharing::share_blocks(float* keys, float* values, DeviceSteps& steps) const {
    const DeviceGather& gather = gathers_[1];
    MoveArgs args;
    args.width = widths_.coarse.width;
    args.n_channel = static_cast<int32_t>(args.width);
    args.findings = findings_;
    const auto both = [&](float* k, float* v, float* memory) {
        args.stream = k;
        args.memory = memory;
        move(args, steps);
        args.stream = v;
        args.memory = memory + part_blocks() * args.width;
        move(args, steps);
    };
    args.n_row = plan_.shape().n_local() / config_.block_size * config_.n_head;
    both(keys, values, static_cast<float*>(gather.part));
    steps.gather(gather);
    args.gives = false;
    args.n_row = n_block_row();
    args.rows = arena_.at<int32_t>(block_rows_);
    both(block_keys(), block_values(), arena_.at<float>(parts_));
}

void DeviceSharing::turn(bool forth, float* from, float* to, DeviceSteps& steps) const {
    const size_t way = forth ? 0 : 1;
    MoveArgs args;
    args.n_row = plan_.shape().n_local();
    args.rows = arena_.at<int32_t>(given_[way]);
    args.stream = from;
    args.width = (forth ? widths_.nodes : widths_.heads).width;
    args.n_channel = static_cast<int32_t>(args.width);
    args.memory = static_cast<float*>(exchanges_[way].given.data);
    args.findings = findings_;
    move(args, steps);
    steps.exchange(exchanges_[way]);
    args.gives = false;
    args.rows = arena_.at<int32_t>(taken_[way]);
    args.stream = to;
    args.memory = arena_.at<float>(parts_);
    move(args, steps);
}

}  // namespace surrogate::impl::bsa
