// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

/// Common parts of the layers of a sphere model: execution context, fields on rows, scratch tiles,
/// and how rows are distributed over threads.
namespace surrogate::impl::sphere {

using kernels::Buffer;
using kernels::round_up;
using kernels::Tile;
using kernels::tile_points;

/// Execution context of a plan. Layers keep a reference.
struct Frame {
    Communicator& comm;
    kernels::Queue queue;
    bool reproducible = false;
    const Dropout* dropout = nullptr;  ///< of models; null: of single layers, which have none
    bool divides_rows = false;         ///< attention may divide rows between ranks; see Bands

    int rank() const { return comm.rank(); }
};

/// Some consecutive rows of a grid with all their columns: (row, channel, column), a tile a row.
/// Channels of a row are an odd multiple of lane_count apart, so that they do not share cache sets.
template <class T>
class Field {
public:
    Field() = default;
    Field(Range rows, int64_t n_column, int64_t n_channel)
        : rows_(rows), n_column_(n_column), n_channel_(n_channel) {
        step_ = round_up(n_column, kernels::lane_count);
        if (step_ / kernels::lane_count % 2 == 0) step_ += kernels::lane_count;
        memory_ = Buffer<T>(rows.size() * n_channel * step_);
    }
    Range rows() const { return rows_; }
    int64_t n_channel() const { return n_channel_; }
    int64_t n_column() const { return n_column_; }
    int64_t bytes() const { return memory_.bytes(); }

    Tile<T> row(int64_t row) { return tile(row, 0, n_column_); }
    Tile<T> tile(int64_t row, int64_t first, int64_t count) {
        T* begin = memory_.data() + (row - rows_.begin) * n_channel_ * step_ + first;
        return {begin, {n_channel_, count}, {step_, 1}};
    }

private:
    Range rows_;
    int64_t n_column_ = 0, n_channel_ = 0, step_ = 0;
    Buffer<T> memory_;
};

/// Columns [first, first + count) of one row, or of n_row consecutive ones: what one call of a
/// kernel works on.
struct Work {
    int64_t row = 0, first = 0, count = 0, n_row = 1;
};

/// Calls body(work) for the tiles of a row, from west to east.
template <class Body>
void for_tiles(int64_t row, int64_t n_column, const Body& body) {
    for (int64_t first = 0; first < n_column; first += tile_points)
        body(Work{row, first, std::min(tile_points, n_column - first)});
}

/// Tiles of some rows, distributed over threads in shares of equal cost. Immutable once made.
class Schedule {
public:
    Schedule() = default;
    /// Creates tiles of at most `width` columns of the rows. cost(row) is the cost of one column.
    /// Up to `most_rows` consecutive rows are combined. Leaves out columns outside of `points`,
    /// which counts row * n_column + column.
    template <class Cost>
    Schedule(const std::vector<int64_t>& rows, int64_t n_column, int64_t width, int n_thread,
             const Cost& cost, int64_t most_rows = 1, Range points = all_points) {
        const auto columns = [&](int64_t row) {
            const int64_t first = row * n_column;
            const Range own = intersection(points, {first, first + n_column});
            return std::pair(own.begin - first, own.end - first);
        };
        std::vector<double> sums = {0};
        int64_t n_row = 1;
        for (size_t i = 0; i < rows.size(); i += static_cast<size_t>(n_row)) {
            double column = cost(rows[i]);
            for (n_row = 1; n_row < most_rows; ++n_row) {
                const size_t next = i + static_cast<size_t>(n_row);
                if (next == rows.size() || rows[next] != rows[i] + n_row) break;
                if (columns(rows[next]) != columns(rows[i])) break;
                column += cost(rows[next]);
            }
            const auto [begin, end] = columns(rows[i]);
            for (int64_t first = begin; first < end; first += width) {
                const int64_t count = std::min(width, end - first);
                work_.push_back({rows[i], first, count, n_row});
                sums.push_back(sums.back() + column * static_cast<double>(count));
            }
        }
        for (int thread = 0; thread <= n_thread; ++thread) {
            const double share = sums.back() * thread / n_thread;
            const auto at = std::lower_bound(sums.begin(), sums.end(), share);
            bounds_.push_back(std::min<int64_t>(at - sums.begin(), std::ssize(work_)));
        }
        bounds_.back() = std::ssize(work_);
    }

    /// Calls body(work, thread) for all tiles.
    template <class Body>
    void run(const kernels::Queue& queue, const Body& body) const {
        if (work_.empty()) return;
        queue.parallel_for(queue.n_thread(), [&](int64_t share, int thread) {
            for (auto i = bounds_[static_cast<size_t>(share)];
                 i < bounds_[static_cast<size_t>(share) + 1]; ++i)
                body(work_[static_cast<size_t>(i)], thread);
        });
    }
    int64_t size() const { return std::ssize(work_); }
    const Work& operator[](int64_t i) const { return work_[static_cast<size_t>(i)]; }

private:
    static constexpr Range all_points = {0, std::numeric_limits<int64_t>::max()};

    std::vector<Work> work_;
    std::vector<int64_t> bounds_;
};

inline std::vector<int64_t> rows_of(Range range) {
    std::vector<int64_t> rows(static_cast<size_t>(range.size()));
    std::iota(rows.begin(), rows.end(), range.begin);
    return rows;
}

/// Returns a schedule of tiles of equal cost.
inline Schedule even_schedule(Range rows, int64_t n_column, int n_thread,
                              int64_t width = tile_points) {
    return {rows_of(rows), n_column, width, n_thread, [](int64_t) { return 1.0; }};
}

/// Distance of channels in scratch tiles: an odd multiple of lane_count, so that half a tile of
/// many channels does not fall into half of the cache sets.
constexpr int64_t tile_step = tile_points + kernels::lane_count;

/// Scratch tiles of one thread: slot (n_channel, tile_points).
template <class T>
class Scratch {
public:
    /// Collects what layers need before memory is taken.
    void require(int slot, int64_t n_channel) {
        widths_[slot] = std::max(widths_[slot], n_channel);
    }
    void allocate(int n_thread) {
        int64_t n = 0;
        for (int slot = 0; slot < n_slot; ++slot) {
            offsets_[slot] = n;
            n += widths_[slot] * tile_step;
        }
        step_ = n;
        memory_ = Buffer<T>(n * n_thread);
    }
    Tile<T> tile(int thread, int slot, int64_t n_channel, int64_t n_point) {
        return {
            memory_.data() + thread * step_ + offsets_[slot], {n_channel, n_point}, {tile_step, 1}};
    }
    int64_t bytes() const { return memory_.bytes(); }

    static constexpr int n_slot = 4;

private:
    int64_t widths_[n_slot] = {}, offsets_[n_slot] = {}, step_ = 0;
    Buffer<T> memory_;
};

/// Copies (n_channel, n_point) tiles.
template <class T>
void copy(Tile<const T> from, Tile<T> to) {
    for (int64_t c = 0; c < from.shape[0]; ++c)
        std::copy_n(from.data + c * from.stride[0], from.shape[1], to.data + c * to.stride[0]);
}

/// Computes to = factor * from of tiles.
template <class T>
void scale(Tile<const T> from, double factor, Tile<T> to) {
    const T f = static_cast<T>(factor);
    for (int64_t c = 0; c < from.shape[0]; ++c)
        for (int64_t i = 0; i < from.shape[1]; ++i) to(c, i) = f * from(c, i);
}

/// Calls body(from's row, to's row) for the rows of two fields of the same shape.
template <class T, class Body>
void for_rows(const kernels::Queue& queue, Field<T>& from, Field<T>& to, const Body& body) {
    queue.parallel_for(from.rows().size(), [&](int64_t i, int) {
        const int64_t row = from.rows().begin + i;
        body(from.row(row), to.row(row));
    });
}

/// Copies rows of a field to one of the same shape.
template <class T>
void copy_rows(const kernels::Queue& queue, Field<T>& from, Field<T>& to) {
    for_rows(queue, from, to, copy<T>);
}

/// Returns a tile over packed values (n_channel, n_point) of exchanges. Not padded: copied, never
/// handed to kernels.
template <class T>
Tile<T> packed(T* data, int64_t n_channel, int64_t n_point) {
    return {data, {n_channel, n_point}, {n_point, 1}};
}

}  // namespace surrogate::impl::sphere
