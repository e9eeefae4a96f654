// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/ranks/row_route.hpp"

namespace surrogate::impl {

/// Redistributes the points of a domain to an ordering that does not depend on the partition; see
/// surrogate_ordering_create. Memory: one RowRoute and 2 row_bytes per point.
class PointOrder {
public:
    /// Plans the ordering. row_bytes: of the largest row; may differ between ranks. The domain is
    /// not used afterwards. Collective. Throws invalid_argument (points that cannot be ordered),
    /// shape, no_memory.
    PointOrder(std::shared_ptr<Context> context, const Domain* domain, int64_t row_bytes);

    /// Returns the positions that this rank holds.
    Range rows() const { return route_->target_rows(); }

    /// Implements surrogate_ordering_to_canonical() and surrogate_ordering_to_local(). Collective.
    void forward(int64_t row_bytes, const void* local, void* ordered) const;
    void backward(int64_t row_bytes, const void* ordered, void* local) const;

private:
    void agree_on_arguments(int64_t row_bytes, const void* local, const void* ordered) const;

    std::shared_ptr<Context> context_;
    int64_t largest_row_bytes_ = 0;
    std::optional<RowRoute> route_;
    mutable kernels::Buffer<std::byte>
        scratch_;  // of the route; a context has one thread at a time
};

}  // namespace surrogate::impl
