// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/context/context.hpp"
#include "libsurrogate/src/domain/edges.hpp"
#include "surrogate/surrogate.h"

namespace surrogate::impl {

/// Points of a plan in the solver's ordering, on this rank. A domain changes only when points move;
/// dependent objects compare revisions.
class Domain {
public:
    virtual ~Domain() = default;

    Context& context() const { return *context_; }
    int64_t n_local() const { return n_local_; }
    int64_t n_global() const { return n_global_; }

    /// Counts the moves of the points; the same on all ranks.
    int64_t revision() const { return revision_; }

    /// Sets of points that some models keep apart.
    virtual int64_t n_cloud() const { return 1; }

    /// Coordinates that a card may ask for: their number, and axis by axis the local points
    /// (n_local).
    virtual int n_axis() const { return 0; }
    virtual const double* coordinate(int) const { return nullptr; }

    /// Returns "point 17 (x = 0.25, 0.5)", for messages.
    virtual std::string point_text(int64_t local) const = 0;

protected:
    explicit Domain(std::shared_ptr<Context> context) : context_(std::move(context)) {}
    Domain(const Domain&) = default;
    int64_t n_local_ = 0, n_global_ = 0;
    int64_t revision_ = 0;

private:
    std::shared_ptr<Context> context_;
};

/// Scattered points.
class PointDomain final : public Domain {
public:
    static constexpr int max_axis = 8;

    /// Makes the domain of surrogate_domain_create_points(). Null or bad values throw on all ranks.
    /// Collective.
    PointDomain(std::shared_ptr<Context> context, const surrogate_points* points);

    /// Moves the points as surrogate_domain_update_points(). Throws on all ranks, and the domain is
    /// then as before. Allocates only for more points than ever before. Collective.
    void move(const surrogate_points* points);

    /// Sets the edges of surrogate_domain_set_edges(). Throws on all ranks, and the edges are then
    /// as before. Counts as a move: plans read them again. Collective.
    void set_edges(int64_t n_edge, const int64_t* source, const int64_t* target);
    /// Sets edges that are at the ranks of their targets already. Local; all ranks call it.
    void set_edges(Edges edges) {
        edges_ = std::move(edges);
        ++revision_;
    }
    /// Returns the edges, or null if no edges were set or the points have moved since. The same on
    /// all ranks.
    const Edges* edges() const { return edges_ ? &*edges_ : nullptr; }

    int n_axis() const override { return n_axis_; }
    int64_t n_cloud() const override { return n_cloud_; }
    bool has_ids() const { return has_ids_; }
    bool has_clouds() const { return has_clouds_; }
    bool has_weights() const { return has_weights_; }

    /// Returns coordinate `axis` of the local points, contiguous (n_local).
    const double* coordinate(int axis) const override { return x_.data() + axis * n_local_; }

    /// Returns ids (n_local), only if has_ids().
    const int64_t* ids() const { return ids_.data(); }

    /// Returns clouds (n_local) in 0 .. n_cloud() - 1, only if has_clouds().
    const int64_t* clouds() const { return clouds_.data(); }

    /// Returns weights (n_local), only if has_weights().
    const double* weights() const { return weights_.data(); }

    std::string point_text(int64_t local) const override;

private:
    /// Properties of the points of all ranks.
    struct Arrays {
        bool has_points = false;  ///< otherwise nothing else is known
        int n_axis = 0;
        bool has_ids = false, has_clouds = false, has_weights = false;
        int64_t n_global = 0;
    };
    /// Scratch storage for points, used when the buffers of the domain are too small.
    struct Room {
        kernels::Buffer<double> x, weights;
        kernels::Buffer<int64_t> ids, clouds;
    };
    void take(const surrogate_points* points);
    Room room_for(const surrogate_points& points) const;
    Arrays agree_on_arrays(const surrogate_points& points) const;
    void require_same_arrays(const Arrays& found) const;
    int64_t count_clouds(const surrogate_points& points, const Arrays& found) const;
    void copy(const surrogate_points& points, Room& room);

    bool has_had_points_ = false;  ///< on any rank; which arrays there are is then settled
    int n_axis_ = 0;
    int64_t n_cloud_ = 1;
    bool has_ids_ = false, has_clouds_ = false, has_weights_ = false;
    kernels::Buffer<double> x_;        // (n_axis, n_local)
    kernels::Buffer<int64_t> ids_;     // (n_local)
    kernels::Buffer<int64_t> clouds_;  // (n_local)
    kernels::Buffer<double> weights_;  // (n_local)
    std::optional<Edges> edges_;
};

}  // namespace surrogate::impl
