// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/domain/columns.hpp"
#include "libsurrogate/src/model/field_range.hpp"

namespace surrogate::impl {

/// Ranges of the samples that a training was trained on, on one rank: of inputs and outputs in the
/// order of the card, in its units. Ranges of the current step are included once the step is
/// complete.
class SeenRanges {
public:
    SeenRanges() = default;
    explicit SeenRanges(size_t n_field) : step_(n_field), complete_(n_field) {}

    /// Adds a column of `n` values. Takes no memory.
    void note(size_t field, const Column& column, NumberKind kind, int64_t n);
    /// Adds `n` doubles, except numbers without weight. weights: (n) or null.
    void note(size_t field, const double* values, const double* weights, int64_t n);

    /// Ends the step, which is complete or left out.
    void end_step(bool is_complete);

    /// Returns the ranges (n_field) of all steps so far.
    std::span<FieldRange> complete() { return complete_; }
    std::span<const FieldRange> complete() const { return complete_; }

private:
    std::vector<FieldRange> step_, complete_;  // (n_field)
};

}  // namespace surrogate::impl
