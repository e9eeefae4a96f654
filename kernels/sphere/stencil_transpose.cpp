// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/sphere/stencil.hpp"

namespace surrogate::kernels::sphere {
namespace {

/// A strip of the input stencil, and its position.
struct Reader {
    int64_t out_phase_row = 0, k = 0;
    Strip strip;
    int64_t first_value = 0;
};

/// Calls body(reader) for all strips, output phase rows ascending.
template <class Body>
void for_strips(const Stencil& stencil, const Body& body) {
    for (int64_t row = stencil.first_row; row < stencil.end_row; ++row) {
        for (int64_t phase = 0; phase < stencil.n_phase_out; ++phase) {
            for (int64_t k = 0; k < stencil.n_basis; ++k) {
                int64_t value = stencil.values.empty() ? 0 : stencil.value_of(row, phase, k);
                for (const Strip& strip : stencil.list(row, phase, k)) {
                    body(Reader{row * stencil.n_phase_out + phase, k, strip, value});
                    value += strip.count;
                }
            }
        }
    }
}

/// Converts sizes, stored after a zero, to the offsets of lists.
void accumulate(std::vector<int64_t>& begin) {
    for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
}

}  // namespace

/// Returns the transposed stencil. Output column u is connected to input column j = u + first + o:
/// input column j is connected to output column j - first - o.
Stencil transpose(const Stencil& stencil, int64_t first_row, int64_t end_row) {
    Stencil to;
    to.n_column = stencil.n_column;
    to.n_phase_in = stencil.n_phase_out;
    to.n_phase_out = stencil.n_phase_in;
    to.first_row = first_row;
    to.end_row = std::max(first_row, end_row);
    to.n_basis = stencil.n_basis;
    const int64_t first = first_row * to.n_phase_out, end = to.end_row * to.n_phase_out;
    const auto list_of = [&](const Reader& reader) {
        return static_cast<size_t>((reader.strip.row - first) * to.n_basis + reader.k);
    };
    const auto is_inside = [&](const Reader& reader) {
        return reader.strip.row >= first && reader.strip.row < end;
    };
    const bool has_values = !stencil.values.empty();
    to.begin.assign(static_cast<size_t>(to.n_list()) + 1, 0);
    if (has_values) to.value_begin = to.begin;
    for_strips(stencil, [&](const Reader& reader) {
        if (!is_inside(reader)) return;
        ++to.begin[list_of(reader) + 1];
        if (has_values) to.value_begin[list_of(reader) + 1] += reader.strip.count;
    });
    accumulate(to.begin);
    accumulate(to.value_begin);
    to.strips.resize(static_cast<size_t>(to.begin.back()));
    if (has_values) to.values.resize(static_cast<size_t>(to.value_begin.back()));
    std::vector<int64_t> next = to.begin, next_value = to.value_begin;
    for_strips(stencil, [&](const Reader& reader) {
        if (!is_inside(reader)) return;
        const auto& [row, seen_from, count] = reader.strip;
        to.strips[static_cast<size_t>(next[list_of(reader)]++)] = {
            static_cast<int32_t>(reader.out_phase_row), 1 - seen_from - count, count};
        if (!has_values) return;
        const double* values = stencil.values.data() + reader.first_value;
        int64_t& at = next_value[list_of(reader)];
        std::reverse_copy(values, values + count, to.values.data() + at);
        at += count;
    });
    return to;
}

Stencil transposed_neighborhood(const Grid& out, const Grid& in, double theta_cutoff,
                                int64_t first_row, int64_t end_row) {
    const RowRange rows = rows_within(latitudes(in.kind, in.n_lat), latitudes(out.kind, out.n_lat),
                                      theta_cutoff, first_row, end_row);
    return transpose(neighborhood(out, in, theta_cutoff, rows.begin, rows.end), first_row, end_row);
}

}  // namespace surrogate::kernels::sphere
