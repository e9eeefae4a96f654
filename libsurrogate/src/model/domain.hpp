// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/core/context.hpp"
#include "surrogate/surrogate.h"

namespace surrogate::impl {

/// Scattered points as the solver has them: this rank's share. Immutable.
class PointDomain {
public:
    /// Collective; see surrogate_domain_create_points. A null `x` or bad values throw on all ranks.
    PointDomain(std::shared_ptr<Context> context, const surrogate_array* x,
                const int64_t* global_id);

    Context& context() const { return *context_; }
    int64_t n_local() const { return n_local_; }
    int64_t n_global() const { return n_global_; }
    int n_axis() const { return n_axis_; }
    bool has_ids() const { return has_ids_; }

    /// Coordinate `axis` of the local points, contiguous (n_local).
    const double* coordinate(int axis) const { return x_.data() + axis * n_local_; }

    /// (n_local), only if has_ids().
    const int64_t* ids() const { return ids_.data(); }

    /// "point 17 (x = 0.25, 0.5)", for messages.
    std::string point_text(int64_t local) const;

private:
    void copy_points(const surrogate_array* x, const int64_t* global_id);
    void agree_on_kind(bool given_ids);

    std::shared_ptr<Context> context_;
    int64_t n_local_ = 0, n_global_ = 0;
    int n_axis_ = 0;
    bool has_ids_ = false;
    kernels::Buffer<double> x_;     // (n_axis, n_local)
    kernels::Buffer<int64_t> ids_;  // (n_local)
};

}  // namespace surrogate::impl
