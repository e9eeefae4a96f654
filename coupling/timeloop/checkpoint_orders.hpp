// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <surrogate/surrogate.hpp>

namespace surrogate::timeloop {

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

/// The orders of the input and the output points of one plan, kept from one checkpoint to the next:
/// finding an order takes longer than writing the rows. Made anew where points have moved.
struct CheckpointOrders {
    std::array<FileOrder, 2> orders;
    std::array<uint64_t, 2> fingerprints = {};  ///< of this rank's points; see PlanPoints
    std::array<int64_t, 2> row_bytes = {};      ///< that the orders take; 0: no order
};

}  // namespace surrogate::timeloop
