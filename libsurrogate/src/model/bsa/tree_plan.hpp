// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/domain/tree_points.hpp"
#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/bsa/slot_shape.hpp"
#include "libsurrogate/src/model/bsa/slots.hpp"

namespace surrogate::impl::bsa {

/// Slots of the points of a plan in its ball trees: the main order of slots, the rotated order,
/// the ways between them, and what layers need of positions.
template <class T>
class TreePlan {
public:
    /// Local. All must outlive it. least_unit: a power of two; ranks own whole multiples of so many
    /// slots, besides what the network asks for.
    TreePlan(const Config& config, const PointDomain& domain, const kernels::Queue& queue,
             int64_t least_unit = 1);

    /// Collective: the trees of the points as they are now, whose coordinates are these columns.
    /// All `ports` will have the points in the order of the main tree. Throws on all ranks as
    /// tree_points() and split_positions(); shape if the cloud does not fit a single layer.
    /// Returns the way of the solver's points to that order.
    RowRoute build(std::span<const Column> coordinates, bool is_reproducible,
                   std::span<PointPorts<T>* const> ports);

    /// Collective: the slots of a coarser level of a U-net, each the mean of `stride` consecutive
    /// slots of `finer`, in the main order and in the positions that decide the rotated one.
    void build_coarser(const TreePlan& finer, int64_t stride);

    const SlotShape& shape() const { return shape_; }
    const Slots& slots() const { return slots_; }
    bool is_rotated() const { return rotated_.has_value(); }
    /// First slot of each rank, and n (size + 1).
    std::span<const int64_t> begins() const { return begins_; }

    /// Points of this rank, and of each the slot of its original, counted from the first one of the
    /// rank. Copies follow their original.
    int64_t n_point() const { return slot_of_.size(); }
    const int64_t* slot_of() const { return slot_of_.data(); }
    /// The slot behind the last copy of a point.
    int64_t end_of(int64_t point) const {
        return point + 1 < n_point() ? slot_of_[point + 1] : shape_.n_local();
    }

    /// Coordinates of a tile of tile_points points, (d, n): single precision in T.
    kernels::Tile<const T> coordinates(int64_t tile) const;

    /// Positions of the slots in the main order, (n_local, d).
    const double* positions() const { return rows_of_slots_.data(); }

    /// Positions less the centre of their ball, (d) a slot, in the main or the rotated order.
    kernels::Tiles<const T> relative(bool rotated) const;

    /// Collective: the values of x move from the main to the rotated order, or back.
    ///   memory  move_size(n_channel) elements
    void move(kernels::Tiles<T> x, bool to_rotated, T* memory) const;
    /// On one rank, the main slot in each place of the rotated order.
    std::vector<int32_t> slots_of_rotated() const;
    /// Collective, on any number of ranks: of each own slot its place in the rotated order, and the
    /// main slot in each own place of that, all ranks counted (n_local each).
    struct Rotation {
        std::vector<int64_t> targets, sources;
    };
    Rotation rotation() const;
    int64_t move_size(int64_t n_channel) const { return 4 * shape_.n_local() * n_channel; }
    /// Bytes that a move of C channels sends.
    int64_t move_bytes(int64_t n_channel) const;

    int64_t bytes() const;

private:
    void set_shape();
    void set_balls();
    void require_whole_balls() const;
    std::vector<int64_t> positions(const TreePoints& points, std::span<const int64_t> begins) const;
    void set_coordinates(const RowRoute& route, const TreePoints& points);
    void set_slots(Range positions);
    void set_relative(const kernels::Buffer<double>& slots, kernels::Buffer<T>& relative) const;
    void rotate();
    void set_rotated();

    const Config& config_;
    const PointDomain& domain_;
    kernels::Queue queue_;
    Communicator& comm_;
    int64_t least_unit_;
    Slots slots_;
    SlotShape shape_;
    std::vector<int64_t> begins_;            // of slots
    kernels::Buffer<int64_t> slot_of_;       // (n_point)
    kernels::Buffer<T> coordinates_;         // (n_tile of points, d, tile_points)
    kernels::Buffer<T> main_, in_rotated_;   // positions in balls: tiles of slots, d channels
    kernels::Buffer<double> rows_of_slots_;  // (n_local, d): positions in the main order
    kernels::Buffer<double> turned_;         // (d, n_local): rotated; only of a U-net after build
    std::optional<RowRoute> rotated_;        // from the main to the rotated order of slots
};

}  // namespace surrogate::impl::bsa
