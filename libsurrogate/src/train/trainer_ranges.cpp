// SPDX-License-Identifier: Apache-2.0
// Ranges of the samples that a trainer was trained on, and the ranges of the card.
#include <utility>

#include "libsurrogate/src/train/trainer.hpp"

namespace surrogate::impl {

/// Adds the values of a training sample, without noise, to the ranges. Local.
void Trainer::note_ranges(const Source& source) {
    for (size_t i = 0; i < n_input(); ++i) {
        const Column& column = source.inputs[i];
        if (column.is_constant || !column.data) continue;
        seen_.note(i, column, plan_.input_kind(i), plan_.n_input_row(i));
    }
    if (recipe_.loss == LossKind::custom || has_labels()) return;  // no targets of outputs
    const double* const weights = has_weights_ ? weights_.data() : nullptr;
    for (size_t o = 0; o < n_output(); ++o) {
        const double* const values = target_.data() + static_cast<int64_t>(o) * n_point();
        seen_.note(n_input() + o, values, weights, n_point());
    }
}

/// Reduces the ranges over all ranks. ends: (2 * n_field), changed. Collective, without agreement.
void Trainer::join_ranges(std::span<FieldRange> ranges, std::span<double> ends) const {
    for (size_t i = 0; i < ranges.size(); ++i) {
        ends[2 * i] = ranges[i].max;
        ends[2 * i + 1] = -ranges[i].min;
    }
    data_parallel().all_reduce_max(ends);
    for (size_t i = 0; i < ranges.size(); ++i) ranges[i] = {-ends[2 * i + 1], ends[2 * i]};
}

int32_t Trainer::widen_ranges() {
    ModelCard& card = *model_->shared_card();
    std::vector<FieldRange> ranges;
    std::vector<double> ends;
    data_parallel().agree([&] {
        ranges.assign(seen_.complete().begin(), seen_.complete().end());
        ends.resize(2 * ranges.size());
    });
    join_ranges(ranges, ends);
    int32_t n_widened = 0;
    ModelCard::Texts texts;
    data_parallel().agree([&] {
        const std::vector<FieldRange> before = card.ranges();
        for (size_t i = 0; i < ranges.size(); ++i) {
            ranges[i].join(before[i]);
            n_widened += ranges[i] == before[i] ? 0 : 1;
        }
        if (n_widened > 0) texts = card.texts_with(ranges);
    });
    if (n_widened > 0) card.set_ranges(ranges, std::move(texts));
    return n_widened;
}

}  // namespace surrogate::impl
