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

/// Ball trees of the points of a plan: the main order of slots, the rotated order, the routes
/// between them, and the functions of positions that layers read.
template <class T>
class TreePlan {
public:
    /// Keeps references to all arguments, which must outlive this object. least_unit: a power of
    /// two; ranks own multiples of this many slots, in addition to the network's requirements.
    /// Local.
    TreePlan(const Config& config, const PointDomain& domain, const kernels::Queue& queue,
             int64_t least_unit = 1);

    /// Builds the trees of the current points, whose coordinates are these columns. Reorders all
    /// `ports` to the order of the main tree. Returns the route from the solver's points to this
    /// order. Collective. Throws, on all ranks, the errors of tree_points() and split_positions(),
    /// and shape if the cloud does not fit a single layer.
    RowRoute build(std::span<const Column> coordinates, bool is_reproducible,
                   std::span<PointPorts<T>* const> ports);

    /// Builds the slots of a coarser level of a U-net: each is the mean of `stride` consecutive
    /// slots of `finer`, in the main order and in the positions that determine the rotated order.
    /// Collective.
    void build_coarser(const TreePlan& finer, int64_t stride);

    const SlotShape& shape() const { return shape_; }
    const Slots& slots() const { return slots_; }
    bool is_rotated() const { return rotated_.has_value(); }
    /// Returns the first slot of each rank, and n (size + 1).
    std::span<const int64_t> begins() const { return begins_; }

    /// Returns the number of points of this rank. slot_of() returns the slot of each point's
    /// original, counted from the rank's first slot. Copies follow their original.
    int64_t n_point() const { return slot_of_.size(); }
    const int64_t* slot_of() const { return slot_of_.data(); }
    /// Returns the slot after the last copy of a point.
    int64_t end_of(int64_t point) const {
        return point + 1 < n_point() ? slot_of_[point + 1] : shape_.n_local();
    }

    /// Returns the coordinates of a tile of tile_points points, (d, n): single-precision values in
    /// T.
    kernels::Tile<const T> coordinates(int64_t tile) const;

    /// Returns the positions of the slots in the main order, (n_local, d).
    const double* positions() const { return rows_of_slots_.data(); }

    /// Returns the positions relative to the center of their ball, (d) per slot, in the main or the
    /// rotated order.
    kernels::Tiles<const T> relative(bool rotated) const;

    /// Moves the values of x from the main to the rotated order, or back. Collective.
    ///   memory  move_size(n_channel) elements
    void move(kernels::Tiles<T> x, bool to_rotated, T* memory) const;
    /// Returns the main slot at each position of the rotated order. One rank only.
    std::vector<int32_t> slots_of_rotated() const;
    /// For each own slot its position in the rotated order, and for each own position of the
    /// rotated order the main slot, both over all ranks (n_local each).
    struct Rotation {
        std::vector<int64_t> targets, sources;
    };
    Rotation rotation() const;
    int64_t move_size(int64_t n_channel) const { return 4 * shape_.n_local() * n_channel; }
    /// Returns the bytes that a move of C channels sends.
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
    std::vector<int64_t> begins_;            // first slot of each rank
    kernels::Buffer<int64_t> slot_of_;       // (n_point)
    kernels::Buffer<T> coordinates_;         // (n_tile of points, d, tile_points)
    kernels::Buffer<T> main_, in_rotated_;   // relative positions: tiles of slots, d channels
    kernels::Buffer<double> rows_of_slots_;  // (n_local, d): positions in the main order
    kernels::Buffer<double> turned_;   // (d, n_local): rotated; kept after build() only for a U-net
    std::optional<RowRoute> rotated_;  // from the main to the rotated order of slots
};

}  // namespace surrogate::impl::bsa
