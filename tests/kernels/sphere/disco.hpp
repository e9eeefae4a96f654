// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/sphere/convolve.hpp"

namespace surrogate::kernels::sphere::test {

/// A convolution with channel weights (n_out, n_in / groups, n_basis) on whole fields, one rank.
struct Disco {
    Grid out, in;
    Filter filter;
    bool is_transposed = false;
    int64_t n_in = 1, n_out = 1, groups = 1;
    std::vector<double> weight, bias;

    Stencil stencil() const {
        return is_transposed ? transposed_convolution(out, in, filter, 0, out.n_lat)
                             : convolution(out, in, filter, 0, out.n_lat);
    }
    double weight_of(int64_t o, int64_t c_in_group, int64_t k, int64_t n_basis) const {
        return weight[static_cast<size_t>((o * (n_in / groups) + c_in_group) * n_basis + k)];
    }
    int64_t first_channel(int64_t o) const { return o / (n_out / groups) * (n_in / groups); }
};

/// A field (n_channel, n_lat, n_lon) as rings of the whole grid. Everything the kernels may not
/// touch is NaN.
template <class T>
class Field {
public:
    Field(const Stencil& stencil, const Grid& grid, int64_t n_channel, const std::vector<double>& x)
        : layout_(0, grid.n_lat, stencil.n_phase_in, stencil.n_column, n_channel, stencil.strips),
          data_(layout_.size()),
          row_(n_channel * round_up(grid.n_lon, lane_count)) {
        const int64_t step = round_up(grid.n_lon, lane_count);
        for (int64_t h = 0; h < grid.n_lat; ++h) {
            for (int64_t c = 0; c < n_channel; ++c)
                for (int64_t j = 0; j < grid.n_lon; ++j)
                    row_[c * step + j] = static_cast<T>(
                        x[static_cast<size_t>((c * grid.n_lat + h) * grid.n_lon + j)]);
            store_row<T>({row_.data(), {n_channel, grid.n_lon}, {step, 1}}, h,
                         {&layout_, data_.data()});
        }
    }
    Rings<const T> rings() const { return {&layout_, data_.data()}; }

private:
    RingLayout layout_;
    Buffer<T> data_, row_;
};

/// Calls work(row, phase, first column, number of columns) for tiles of the whole output.
template <class Work>
void for_tiles(const Stencil& stencil, int64_t n_tile, const Work& work) {
    for (int64_t row = stencil.first_row; row < stencil.end_row; ++row)
        for (int64_t phase = 0; phase < stencil.n_phase_out; ++phase)
            for (int64_t first = 0; first < stencil.n_column; first += n_tile)
                work(row, phase, first, std::min(n_tile, stencil.n_column - first));
}

template <class T>
std::vector<T> rounded(const std::vector<double>& values) {
    return {values.begin(), values.end()};
}

/// y (n_out, n_lat, n_lon), Psi before W, in tiles of at most n_tile columns.
template <class T>
std::vector<double> geometry_first(const Queue& queue, const Disco& disco,
                                   const std::vector<double>& x, int64_t n_tile) {
    const Stencil stencil = disco.stencil();
    const std::vector<T> values = rounded<T>(stencil.values);
    const Field<T> field(stencil, disco.in, disco.n_in, x);
    const int64_t n_basis = stencil.n_basis, step = round_up(n_tile, lane_count);
    Buffer<T> memory(disco.n_in * n_basis * step);
    std::vector<double> y(static_cast<size_t>(disco.n_out * disco.out.n_lat * disco.out.n_lon));
    for_tiles(stencil, n_tile, [&](int64_t row, int64_t phase, int64_t first, int64_t count) {
        const Tile<T> z{memory.data(), {disco.n_in * n_basis, count}, {step, 1}};
        apply_basis<T>(queue, {&stencil, values.data()}, row, phase, first, field.rings(), z);
        for (int64_t o = 0; o < disco.n_out; ++o) {
            for (int64_t i = 0; i < count; ++i) {
                double sum = disco.bias.empty() ? 0 : disco.bias[static_cast<size_t>(o)];
                for (int64_t c = 0; c < disco.n_in / disco.groups; ++c)
                    for (int64_t k = 0; k < n_basis; ++k)
                        sum += disco.weight_of(o, c, k, n_basis) *
                               z((disco.first_channel(o) + c) * n_basis + k, i);
                const int64_t column = (first + i) * stencil.n_phase_out + phase;
                y[static_cast<size_t>((o * disco.out.n_lat + row) * disco.out.n_lon + column)] =
                    sum;
            }
        }
    });
    return y;
}

/// The same, W before Psi.
template <class T>
std::vector<double> weights_first(const Queue& queue, const Disco& disco,
                                  const std::vector<double>& x, int64_t n_tile) {
    const Stencil stencil = disco.stencil();
    const std::vector<T> values = rounded<T>(stencil.values);
    const int64_t n_basis = stencil.n_basis, n_point = disco.in.n_lat * disco.in.n_lon;
    std::vector<double> t(static_cast<size_t>(disco.n_out * n_basis * n_point));
    for (int64_t o = 0; o < disco.n_out; ++o)
        for (int64_t k = 0; k < n_basis; ++k)
            for (int64_t c = 0; c < disco.n_in / disco.groups; ++c)
                for (int64_t i = 0; i < n_point; ++i)
                    t[static_cast<size_t>((o * n_basis + k) * n_point + i)] +=
                        disco.weight_of(o, c, k, n_basis) *
                        x[static_cast<size_t>((disco.first_channel(o) + c) * n_point + i)];
    const Field<T> field(stencil, disco.in, disco.n_out * n_basis, t);
    const int64_t step = round_up(n_tile, lane_count);
    Buffer<T> memory(disco.n_out * step);
    std::vector<double> y(static_cast<size_t>(disco.n_out * disco.out.n_lat * disco.out.n_lon));
    for_tiles(stencil, n_tile, [&](int64_t row, int64_t phase, int64_t first, int64_t count) {
        const Tile<T> tile{memory.data(), {disco.n_out, count}, {step, 1}};
        for (int64_t o = 0; o < disco.n_out; ++o)
            std::fill_n(
                &tile(o, 0), step,
                disco.bias.empty() ? T(0) : static_cast<T>(disco.bias[static_cast<size_t>(o)]));
        sum_basis<T>(queue, {&stencil, values.data()}, row, phase, first, field.rings(), true,
                     tile);
        for (int64_t o = 0; o < disco.n_out; ++o)
            for (int64_t i = 0; i < count; ++i) {
                const int64_t column = (first + i) * stencil.n_phase_out + phase;
                y[static_cast<size_t>((o * disco.out.n_lat + row) * disco.out.n_lon + column)] =
                    tile(o, i);
            }
    });
    return y;
}

/// |a - b| / |b| in the L2 norm.
inline double relative_l2(const std::vector<double>& a, const std::vector<double>& b) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < b.size(); ++i) {
        difference += (a.at(i) - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return std::sqrt(difference / size);
}

/// F(shape, s, a, o) of the spec, section 10: (float)(o + a sin(1.3 n + s)).
inline std::vector<double> wave(int64_t count, double s, double a = 1) {
    std::vector<double> values;
    for (int64_t n = 0; n < count; ++n)
        values.push_back(static_cast<float>(a * std::sin(1.3 * static_cast<double>(n) + s)));
    return values;
}

}  // namespace surrogate::kernels::sphere::test
