// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/model/bsa/tree_plan.hpp"

namespace surrogate::impl::bsa {

/// Gradients with respect to the positions of the slots of a tree. Layers add gradients of
/// positions relative to the center of their ball, in the main and in the rotated order; finish()
/// converts them to gradients of positions.
template <class T>
class PositionGradient {
public:
    /// Allocates memory for the current slots of `plan`, which must outlive this object. Local.
    PositionGradient(const TreePlan<T>& plan, const kernels::Queue& queue, int64_t n_axis);

    void clear();
    /// Returns the gradients of relative positions (d) in the main or the rotated order.
    kernels::Tiles<T> relative(bool rotated) { return tiles(rotated ? rotated_ : main_); }
    /// Computes the gradients of positions. Collective. Does not allocate.
    void finish();
    /// Returns the gradients of positions (d) in the main order, after finish().
    kernels::Tiles<T> positions() { return tiles(main_); }

    int64_t bytes() const { return main_.bytes() + rotated_.bytes() + moving_.bytes(); }

private:
    kernels::Tiles<T> tiles(kernels::Buffer<T>& buffer) {
        return plan_.shape().tiles(buffer.data(), n_axis_);
    }
    void subtract_centers(const kernels::Tiles<T>& d);

    const TreePlan<T>& plan_;
    kernels::Queue queue_;
    int64_t n_axis_;
    kernels::Buffer<T> main_, rotated_, moving_;
};

}  // namespace surrogate::impl::bsa
