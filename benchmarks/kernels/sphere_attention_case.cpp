// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/kernels/sphere_attention_case.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace surrogate::bench {

using namespace kernels;
using namespace kernels::sphere;

namespace {

void fill_normal(Buffer<float>& data, float scale, std::mt19937& random) {
    std::normal_distribution<float> normal;
    for (float& x : data) x = scale * normal(random);
}

Queue one_thread(const Queue& queue) {
    return Queue(queue.backend(), queue.level(), 1);
}

/// Returns the number of columns of the longest list.
int64_t longest_list(const Stencil& stencil) {
    int64_t longest = 0;
    for (int64_t row = stencil.first_row; row < stencil.end_row; ++row)
        longest = std::max(longest, stencil.pairs(row));
    return longest;
}

template <class T>
double relative_error(Tile<const float> got, Tile<const T> want) {
    double difference = 0, size = 0;
    for (int64_t c = 0; c < want.shape[0]; ++c) {
        for (int64_t i = 0; i < want.shape[1]; ++i) {
            difference = std::max(difference, std::abs(got(c, i) - want(c, i)));
            size = std::max(size, std::abs(want(c, i)));
        }
    }
    return difference / size;
}

Buffer<double> doubles(const Buffer<float>& data) {
    Buffer<double> copy(data.size());
    std::copy(data.begin(), data.end(), copy.begin());
    return copy;
}

}  // namespace

SphereLayer::SphereLayer(const Grid& grid, const Heads& heads, std::span<const Strip> strips,
                         int64_t n_tile_rows)
    : grid_(grid),
      heads_(heads),
      row_(round_up(grid.n_lon, lane_count) + (grid.n_lon / lane_count % 2 ? 0 : lane_count)),
      k_layout_(0, grid.n_lat, 1, grid.n_lon, heads.n_key_channel(), strips),
      v_layout_(0, grid.n_lat, 1, grid.n_lon, heads.n_value_channel(), strips),
      parameters_(4 * heads.n_key_channel() * heads.n_key_channel()),
      x_(grid.n_lat * heads.n_key_channel() * row_),
      q_(x_.size()),
      k_(k_layout_.size()),
      v_(v_layout_.size()),
      y_(x_.size()),
      n_tile_rows_(n_tile_rows),
      averages_(max_threads * n_tile_rows * heads.n_value_channel() * tile_points),
      weight_(grid.n_lat) {
    std::mt19937 random(1);
    fill_normal(parameters_, 1 / std::sqrt(static_cast<float>(heads.n_key_channel())), random);
    fill_normal(x_, 1, random);
    const Latitudes rows = latitudes(grid.kind, grid.n_lat);
    for (int64_t i = 0; i < grid.n_lat; ++i)
        weight_[i] = static_cast<float>(rows.weight[static_cast<size_t>(i)]);
}

int64_t SphereLayer::n_tile() const {
    return round_up(grid_.n_lon, tile_points) / tile_points;
}

Tile<float> SphereLayer::tile(Buffer<float>& data, int64_t row, int64_t first) const {
    const int64_t n_channel = heads_.n_key_channel();
    const int64_t count = std::min(tile_points, grid_.n_lon - first);
    return {data.data() + row * n_channel * row_ + first, {n_channel, count}, {row_, 1}};
}

Tile<float> SphereLayer::averages(int64_t first, int64_t tile_row, int thread) {
    const int64_t n_channel = heads_.n_value_channel();
    const int64_t count = std::min(tile_points, grid_.n_lon - first);
    const int64_t at = (thread * n_tile_rows_ + tile_row) * n_channel * tile_points;
    return {averages_.data() + at, {n_channel, count}, {tile_points, 1}};
}

void SphereLayer::project(const Queue& queue) {
    const int64_t n = heads_.n_key_channel();
    const Queue one = one_thread(queue);
    queue.parallel_for(grid_.n_lat, [&](int64_t row, int) {
        for (int64_t first = 0; first < grid_.n_lon; first += tile_points) {
            const Tile<float> x = tile(x_, row, first);
            Tile<float> to[] = {tile(q_, row, first), k().row(row), v().row(row)};
            for (int64_t i = 0; i < 3; ++i) {
                if (i > 0) to[i] = {to[i].data + first, {n, x.shape[1]}, to[i].stride};
                linear<float>(one, {n, n, parameters_.data() + i * n * n, nullptr}, x, {}, to[i]);
            }
        }
        close_ring(row, k());
        close_ring(row, v());
    });
}

void SphereLayer::project_out(const Queue& queue, int64_t row, int64_t first, int64_t tile_row,
                              int thread) {
    const int64_t n = heads_.n_key_channel();
    const Linear<float> layer{n, n, parameters_.data() + 3 * n * n, nullptr};
    linear<float>(queue, layer, averages(first, tile_row, thread), {}, tile(y_, row, first));
}

double SphereLayer::projection_flops() const {
    const double n = static_cast<double>(heads_.n_key_channel());
    return 8 * n * n * static_cast<double>(grid_.n_lat * grid_.n_lon);
}

NeighborhoodLayer::NeighborhoodLayer(const Grid& grid, const Heads& heads, double theta_cutoff)
    : NeighborhoodLayer(grid, heads, neighborhood(grid, grid, theta_cutoff, 0, grid.n_lat)) {}

NeighborhoodLayer::NeighborhoodLayer(const Grid& grid, const Heads& heads, Stencil stencil)
    : SphereLayer(grid, heads, stencil.strips, block_rows),
      stencil_(std::move(stencil)),
      n_scratch_(neighborhood_scratch(heads, block_rows * longest_list(stencil_))),
      scratch_(max_threads * n_scratch_) {}

/// Computes attention for the columns of a tile from `column` on, of rows [first, end).
void NeighborhoodLayer::attend_block(const Queue& queue, int64_t first, int64_t end, int64_t column,
                                     int thread) {
    NeighborhoodRow<float> rows[block_rows];
    size_t n_row = 0;
    for (int64_t row = first; row < end; ++row, ++n_row)
        rows[n_row] = {stencil_.list(row, 0), tile(q_, row, column),
                       averages(column, row - first, thread)};
    attend_neighbors<float>(queue, heads_, {rows, n_row}, column, k(), v(), weight_.data(),
                            scratch_.data() + thread * n_scratch_);
}

void NeighborhoodLayer::attend(const Queue& queue, int64_t first, int64_t end) {
    const Queue one = one_thread(queue);
    for_blocks(queue, first, end, [&](int64_t row, int64_t end_row, int64_t column, int thread) {
        attend_block(one, row, end_row, column, thread);
    });
}

void NeighborhoodLayer::run(const Queue& queue) {
    project(queue);
    const Queue one = one_thread(queue);
    for_blocks(queue, 0, grid_.n_lat, [&](int64_t first, int64_t end, int64_t column, int thread) {
        attend_block(one, first, end, column, thread);
        for (int64_t row = first; row < end; ++row)
            project_out(one, row, column, row - first, thread);
    });
}

double NeighborhoodLayer::error(const Queue& queue) {
    run(queue);
    const Buffer<double> q = doubles(q_), k64 = doubles(k_), v64 = doubles(v_);
    const Buffer<double> weight = doubles(weight_);
    Buffer<double> scratch(n_scratch_), want(averages_.size());
    double error = 0;
    for (int64_t row : {int64_t{0}, grid_.n_lat / 5, grid_.n_lat / 2}) {
        attend_block(one_thread(queue), row, std::min(grid_.n_lat, row + block_rows), 0, 0);
        const Tile<float> got = averages(0, 0, 0), queries = tile(q_, row, 0);
        const Tile<double> answer{want.data(), got.shape, got.stride};
        const Tile<const double> queries64{q.data() + (queries.data - q_.data()), queries.shape,
                                           queries.stride};
        const NeighborhoodRow<double> one{stencil_.list(row, 0), queries64, answer};
        sphere::ref::attend_neighbors<double>(heads_, {&one, 1}, 0, {&k_layout_, k64.data()},
                                              {&v_layout_, v64.data()}, weight.data(),
                                              scratch.data());
        error = std::max(error, relative_error<double>(got, answer));
    }
    return error;
}

double NeighborhoodLayer::attention_flops(int64_t first, int64_t end) const {
    double pairs = 0;
    for (int64_t row = first; row < end; ++row) pairs += static_cast<double>(stencil_.pairs(row));
    return 4 * pairs * static_cast<double>(grid_.n_lon * heads_.n_key_channel());
}

GlobalLayer::GlobalLayer(const Grid& grid, const Heads& heads)
    : SphereLayer(grid, heads, {}, 1),
      states_(max_threads * SoftmaxState<float>::size(heads)),
      scratch_(max_threads * attend_scratch(heads)) {}

void GlobalLayer::attend_tile(const Queue& queue, int64_t row, int64_t first, int thread) {
    const SoftmaxState<float> state{heads_,
                                    states_.data() + thread * SoftmaxState<float>::size(heads_)};
    reset(state);
    for (int64_t key_row = 0; key_row < grid_.n_lat; ++key_row)
        kernels::attend<float>(queue, heads_, tile(q_, row, first), k().row(key_row),
                               v().row(key_row), weight_[key_row], {},
                               scratch_.data() + thread * attend_scratch(heads_), state);
    finish<float>(queue, state, averages(first, 0, thread));
}

void GlobalLayer::attend(const Queue& queue) {
    const Queue one = one_thread(queue);
    queue.parallel_for(grid_.n_lat * n_tile(), [&](int64_t i, int thread) {
        attend_tile(one, i / n_tile(), i % n_tile() * tile_points, thread);
    });
}

void GlobalLayer::run(const Queue& queue) {
    project(queue);
    const Queue one = one_thread(queue);
    queue.parallel_for(grid_.n_lat * n_tile(), [&](int64_t i, int thread) {
        const int64_t row = i / n_tile(), first = i % n_tile() * tile_points;
        attend_tile(one, row, first, thread);
        project_out(one, row, first, 0, thread);
    });
}

double GlobalLayer::error(const Queue& queue) {
    run(queue);
    attend_tile(one_thread(queue), 1, 0, 0);
    const Tile<float> got = averages(0, 0, 0), queries = tile(q_, 1, 0);
    const Buffer<double> q = doubles(q_), k64 = doubles(k_), v64 = doubles(v_);
    Buffer<double> data(SoftmaxState<double>::size(heads_)), want(averages_.size());
    const SoftmaxState<double> state{heads_, data.data()};
    const Tile<const double> queries64{q.data() + (queries.data - q_.data()), queries.shape,
                                       queries.stride};
    const Rings<const double> keys{&k_layout_, k64.data()}, values{&v_layout_, v64.data()};
    reset(state);
    for (int64_t row = 0; row < grid_.n_lat; ++row)
        kernels::ref::attend<double>(heads_, queries64, keys.row(row), values.row(row),
                                     weight_[row], {}, state);
    const Tile<double> answer{want.data(), got.shape, got.stride};
    finish<double>(queue, state, answer);
    return relative_error<double>(got, answer);
}

double GlobalLayer::attention_flops() const {
    const double n = static_cast<double>(grid_.n_lat * grid_.n_lon);
    return 4 * n * n * static_cast<double>(heads_.n_key_channel());
}

}  // namespace surrogate::bench
