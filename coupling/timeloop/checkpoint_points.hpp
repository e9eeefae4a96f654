// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/timeloop/checkpoint_content.hpp"

namespace surrogate::timeloop {

/// A domain of a plan as this rank knows it. Local.
struct PlanPoints {
    PlanPoints(const surrogate_plan* plan, bool is_output);

    Model model;
    Domain domain;
    surrogate_domain_info kind = {};  ///< its texts belong to the model
    surrogate_points points = {};     ///< of scattered points; the memory is the domain's
    int64_t n_local = 0, n_global = 0;

    /// Coordinates of this rank's points, (n_local, n_axis).
    std::vector<double> x() const;
    /// Whether this rank's part of two domains is the same memory.
    bool is(const PlanPoints& other) const;
    /// What a file says of these points, but where their rows lie. n_axis and has_id are those of all
    /// ranks.
    PointsContent content(const std::string& group, int64_t n_axis, bool has_id) const;
};

/// The way from the rows of this rank to its range of the file's order, and back.
class FileOrder {
public:
    FileOrder() = default;
    /// Collective; row_bytes of the largest row.
    FileOrder(const Domain& domain, int64_t row_bytes);

    /// This rank's range of the order.
    int64_t first() const { return first_; }
    int64_t n() const { return n_; }

    /// Rows of this rank to its range, and back. Collective, take no memory.
    void forward(int64_t row_bytes, const void* local, void* ordered) const {
        check(surrogate_order_forward(order_.get(), row_bytes, local, ordered));
    }
    void backward(int64_t row_bytes, const void* ordered, void* local) const {
        check(surrogate_order_backward(order_.get(), row_bytes, ordered, local));
    }

private:
    struct Destroy {
        void operator()(surrogate_order* order) const { surrogate_order_destroy(&order); }
    };
    std::unique_ptr<surrogate_order, Destroy> order_;
    int64_t first_ = 0, n_ = 0;
};

}  // namespace surrogate::timeloop
