// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "coupling/timeloop/checkpoint_orders.hpp"
#include "coupling/timeloop/checkpoint_points.hpp"

namespace surrogate::timeloop {

/// Common part of saving and restoring: a snapshot of the points of a plan as a file has it, and
/// the way of rows into the order of the file.
class CheckpointState {
public:
    /// Checks the snapshot, and that all ranks give the same path, fields and integrals.
    /// Collective; throws Error, the same on all ranks.
    CheckpointState(surrogate_context* context, const surrogate_plan* plan,
                    const Snapshot& snapshot, const std::string& path, CheckpointOrders* orders);

    surrogate_context* context() const { return context_; }
    int32_t rank() const { return rank_; }

    /// Groups, fields and integrals in the order of the snapshot.
    CheckpointContent content;

    /// Points and order of a group of the content, by its index.
    const PlanPoints& points(size_t group) const { return *points_[group]; }
    const Ordering& order(size_t group) const { return *kept_->orders[group]; }
    size_t group_of(const StateField& field) const {
        return field.at_output && content.points.size() > 1 ? 1 : 0;
    }
    /// Bytes of this rank's range of the largest rows.
    size_t largest_range() const {
        int64_t n = 0;
        for (size_t group = 0; group < content.points.size(); ++group)
            n = std::max(n, order(group).n());
        return static_cast<size_t>(n * row_bytes_);
    }
    /// Returns the offset of this rank's rows of a group in the file.
    uint64_t offset(const Rows& rows, size_t group) const {
        return rows.offset + static_cast<uint64_t>(order(group).first() * rows.row_bytes());
    }
    size_t range_bytes(const Rows& rows, size_t group) const {
        return static_cast<size_t>(order(group).n() * rows.row_bytes());
    }

    /// Brings to all ranks what rank 0 knows of the file: times, integrals, offsets, size.
    /// Collective.
    void share_content();

private:
    /// Gathers from all ranks: columns of coordinates and of ids of both domains, whether their
    /// orders must be made anew, and whether there are fields at a second domain.
    enum { n_axis, has_id = 2, is_moved = 4, is_second_used = 6, n_common };

    void check_fields(const Snapshot& snapshot) const;
    void set_content(const Snapshot& snapshot);
    void make_orders();
    /// Calls visit(word) with all that share_content() brings.
    template <class Visit>
    void visit_shared(const Visit& visit);

    surrogate_context* context_;
    int32_t rank_ = 0;
    int64_t row_bytes_ = 1;  ///< of the largest row
    std::array<std::optional<PlanPoints>, 2> points_;
    CheckpointOrders* kept_;
    std::array<double, n_common> common_ = {};
};

}  // namespace surrogate::timeloop
