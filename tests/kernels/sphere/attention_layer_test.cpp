// SPDX-License-Identifier: Apache-2.0
// Whole layers of attention on small grids against the self-checks of the spec of the sphere,
// section 10: projections, stencils with phases, rings and attention together.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/linear/linear.hpp"
#include "kernels/sphere/attention.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::sphere::test {
namespace {

using namespace surrogate::kernels::test;

constexpr int64_t n_channel = 4;

/// Element n of the spec's F(shape, s, a).
float element(int64_t n, double s, double a = 1) {
    return static_cast<float>(a * std::sin(1.3 * static_cast<double>(n) + s));
}

/// Rows of points: row r is a tile (n_channel, n_lon).
template <class T>
struct Rows {
    Rows(int64_t n_lat, int64_t n_lon) {
        for (int64_t row = 0; row < n_lat; ++row)
            rows.emplace_back(TileBox<T>::input, n_channel, n_lon);
    }
    TileBox<T>& operator[](int64_t row) { return rows[static_cast<size_t>(row)]; }
    std::vector<TileBox<T>> rows;
};

template <class T>
Rows<T> input(const Grid& grid, double s) {
    Rows<T> x(grid.n_lat, grid.n_lon);
    for (int64_t row = 0; row < grid.n_lat; ++row) {
        x[row].fill([&](int64_t c, int64_t j) {
            return element((c * grid.n_lat + row) * grid.n_lon + j, s);
        });
    }
    return x;
}

/// One of the four projections of the self-check.
template <class T>
Rows<T> project(const Queue& queue, int which, Rows<T>& x, T scale = 1) {
    Buffer<T> weight(n_channel * n_channel), bias(n_channel);
    for (int64_t n = 0; n < weight.size(); ++n) weight[n] = scale * element(n, 1 + which, 0.5);
    for (int64_t n = 0; n < bias.size(); ++n) bias[n] = scale * element(n, 5 + which, 0.1);
    const int64_t n_lon = x[0].view().shape[1];
    Rows<T> y(static_cast<int64_t>(x.rows.size()), n_lon);
    for (size_t row = 0; row < x.rows.size(); ++row)
        linear<T>(queue, {n_channel, n_channel, weight.data(), bias.data()},
                  x.rows[row].input_view(), {}, y.rows[row].view());
    return y;
}

/// Memory in rings, rows stored by phases.
template <class T>
struct RingMemory {
    RingMemory(Rows<T>& x, int64_t n_phase, std::span<const Strip> strips)
        : layout(0, static_cast<int64_t>(x.rows.size()), n_phase, x[0].view().shape[1] / n_phase,
                 n_channel, strips),
          data(layout.size()) {
        for (int64_t row = 0; row < layout.end_row(); ++row)
            store_row<T>(x[row].input_view(), row, {&layout, data.data()});
    }
    Rings<T> rings() { return {&layout, data.data()}; }
    RingLayout layout;
    Buffer<T> data;
};

const Heads heads{2, 2, 2};

template <class T>
T query_scale() {
    return static_cast<T>(std::numbers::log2e / std::sqrt(2.0));
}

template <class T>
Rows<T> neighborhood_layer(const Queue& queue, const Grid& out, const Grid& in, Rows<T> query,
                           Rows<T> key) {
    const Grid& coarse = out.n_lat < in.n_lat ? out : in;
    const double cutoff = largest_gap(latitudes(coarse.kind, coarse.n_lat));
    const Stencil stencil = neighborhood(out, in, cutoff, 0, out.n_lat);
    Rows<T> q = project(queue, 0, query, query_scale<T>()), k = project(queue, 1, key),
            v = project(queue, 2, key), y(out.n_lat, out.n_lon);
    RingMemory<T> q_rings(q, stencil.n_phase_out, {}),
        k_rings(k, stencil.n_phase_in, stencil.strips),
        v_rings(v, stencil.n_phase_in, stencil.strips);
    Buffer<T> weight(in.n_lat * stencil.n_phase_in);
    const Latitudes rows = latitudes(in.kind, in.n_lat);
    for (int64_t i = 0; i < weight.size(); ++i)
        weight[i] = static_cast<T>(rows.weight[static_cast<size_t>(i / stencil.n_phase_in)]);
    Buffer<T> scratch(neighborhood_scratch(heads, in.n_lat * in.n_lon));
    for (int64_t row = 0; row < out.n_lat; ++row) {
        for (int64_t phase = 0; phase < stencil.n_phase_out; ++phase) {
            TileBox<T> average(TileBox<T>::output, n_channel, stencil.n_column);
            attend_neighbors<T>(queue, heads,
                                q_rings.rings().row(row * stencil.n_phase_out + phase), 0,
                                stencil.list(row, phase), k_rings.rings(), v_rings.rings(),
                                weight.data(), scratch.data(), average.view());
            for (int64_t c = 0; c < n_channel; ++c)
                for (int64_t u = 0; u < stencil.n_column; ++u)
                    y[row].view()(c, u * stencil.n_phase_out + phase) = average.view()(c, u);
        }
    }
    return project(queue, 3, y);
}

template <class T>
Rows<T> global_layer(const Queue& queue, const Grid& grid, Rows<T> x) {
    Rows<T> q = project(queue, 0, x, query_scale<T>()), k = project(queue, 1, x),
            v = project(queue, 2, x), y(grid.n_lat, grid.n_lon);
    const Latitudes rows = latitudes(grid.kind, grid.n_lat);
    Buffer<T> data(SoftmaxState<T>::size(heads)), scratch(attend_scratch(heads));
    const SoftmaxState<T> state{heads, data.data()};
    for (int64_t row = 0; row < grid.n_lat; ++row) {
        reset(state);
        for (int64_t key_row = 0; key_row < grid.n_lat; ++key_row)
            attend<T>(queue, heads, q[row].input_view(), k[key_row].input_view(),
                      v[key_row].input_view(),
                      static_cast<T>(rows.weight[static_cast<size_t>(key_row)]), {}, scratch.data(),
                      state);
        finish<T>(queue, state, y[row].view());
    }
    return project(queue, 3, y);
}

/// Four numbers of the spec: y[0,0,0,0], y[0,a,b,c], the last element, and the sum of squares.
struct Wanted {
    double first;
    std::array<int64_t, 3> at;
    double there, last, square;
};

template <class T>
void expect_numbers(Rows<T> y, const Wanted& want) {
    const auto n_lat = static_cast<int64_t>(y.rows.size()), n_lon = y[0].view().shape[1];
    const auto value = [&](int64_t c, int64_t row, int64_t j) {
        return static_cast<double>(y[row].view()(c, j));
    };
    double square = 0;
    for (int64_t row = 0; row < n_lat; ++row)
        for (int64_t c = 0; c < n_channel; ++c)
            for (int64_t j = 0; j < n_lon; ++j) square += value(c, row, j) * value(c, row, j);
    EXPECT_NEAR(value(0, 0, 0), want.first, 1e-6);
    EXPECT_NEAR(value(want.at[0], want.at[1], want.at[2]), want.there, 1e-6);
    EXPECT_NEAR(value(n_channel - 1, n_lat - 1, n_lon - 1), want.last, 1e-6);
    EXPECT_NEAR(square, want.square, 1e-6 * want.square);
}

const Grid coarse{GridKind::equiangular, 6, 12}, fine{GridKind::equiangular, 12, 24};
const Wanted self{-0.07469029, {1, 2, 3}, 0.1353637, -0.07705932, 4.606356};
const Wanted down{-0.08047681, {1, 2, 3}, -0.01048458, -0.03611139, 1.143294};
const Wanted up{0.0003561618, {1, 2, 3}, 0.01518186, 0.05615294, 12.67808};
const Wanted all{-0.08632274, {1, 2, 3}, 0.1199440, -0.1054503, 3.322137};

template <class T>
void expect_self_checks(const Queue& queue) {
    expect_numbers(
        neighborhood_layer<T>(queue, coarse, coarse, input<T>(coarse, 0.1), input<T>(coarse, 0.1)),
        self);
    expect_numbers(
        neighborhood_layer<T>(queue, coarse, fine, input<T>(coarse, 0.1), input<T>(fine, 0.2)),
        down);
    expect_numbers(
        neighborhood_layer<T>(queue, fine, coarse, input<T>(fine, 0.2), input<T>(coarse, 0.1)), up);
    expect_numbers(global_layer<T>(queue, coarse, input<T>(coarse, 0.1)), all);
}

class SphereLayerOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(SphereLayerOn);

TEST_P(SphereLayerOn, GivesTheNumbersOfTheSpec) {
    expect_self_checks<float>(queue());
}

TEST(SphereLayerReference, GivesTheNumbersOfTheSpecInDouble) {
    expect_self_checks<double>(Queue(Backend::ref, VectorLevel::scalar, 1));
}

}  // namespace
}  // namespace surrogate::kernels::sphere::test
