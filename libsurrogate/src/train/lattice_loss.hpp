// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/ranks/exact_sum.hpp"
#include "libsurrogate/src/ranks/neighbor_exchange.hpp"
#include "libsurrogate/src/ranks/row_route.hpp"
#include "libsurrogate/src/train/sample.hpp"

namespace surrogate::impl {

/// Computes differences of predictions and targets on a structured grid of n_x times n_y points,
/// for any distribution over ranks. Both fields are zero outside of the grid, and predictions are
/// zero on its boundary points:
///   (Dx f)(i, j) = f(i + 1, j) - f(i - 1, j),   (Dy f)(i, j) = f(i, j + 1) - f(i, j - 1)
/// with e = prediction - target. The loss adds |Dx e| / |Dx target| + |Dy e| / |Dy target|, in
/// which spacings cancel. Each rank computes some lines of constant i; points are redistributed to
/// these ranks, and gradients back. Source: spec of FLARE, section 7 (Darcy).
class LatticeLoss {
public:
    /// Sums of squares: Dx e, Dx target, Dy e, Dy target.
    static constexpr size_t n_sum = 4;

    /// Plans the lines of a grid. Point (i, j) has position i * n_y + j in the canonical order of
    /// the domain, which has n_x * n_y points. Collective; errors are agreed on.
    LatticeLoss(const PointDomain& domain, int64_t n_x, int64_t n_y, int64_t n_output);

    /// Scatters the fields to their lines. A rank that is not alive sends zeros. Collective,
    /// without agreement.
    void bring(const kernels::Queue& queue, const Sample& sample, bool alive);

    /// Bounds of the gathered values. bounds (n_sum): largest squares of this rank; false if one is
    /// not finite. limbs: sums on the grids, the second limb `stride` behind.
    bool find_bounds(double* bounds) const;
    void add_up(std::span<const ExactGrid> grids, int64_t* limbs, int64_t stride) const;

    /// Adds the gradient of  x sum (Dx e)^2 / 2 + y sum (Dy e)^2 / 2  with respect to predictions
    ///                       to
    /// `to` (n_output, n_point). Collective, without agreement.
    void add_gradient(double x, double y, double* to);

    int64_t bytes() const;

private:
    static constexpr int64_t halo = 2;  // lines: differences of differences
    int64_t n_line() const { return lines_.size() + 2 * halo; }
    /// Returns the error (field 0) or target (field 1) of an output on line `line` of the grid.
    /// Lines outside of the grid are zero.
    double* line(int64_t field, int64_t output, int64_t line) {
        return fields_.data() +
               ((field * n_output_ + output) * n_line() + line - lines_.begin + halo) * n_y_;
    }
    const double* line(int64_t field, int64_t output, int64_t at) const {
        return const_cast<LatticeLoss*>(this)->line(field, output, at);
    }
    template <class Use>
    void for_each_square(const Use& use) const;
    void reserve();
    void connect(std::span<const int64_t> begins);
    void unpack();
    bool is_inside(int64_t i, int64_t j) const {
        return i > 0 && i < n_x_ - 1 && j > 0 && j < n_y_ - 1;
    }

    Communicator& comm_;
    int64_t n_x_, n_y_, n_output_;
    int64_t n_point_;  // of this rank, in the caller's order
    RowRoute route_;
    Range lines_;
    NeighborExchange exchange_;
    kernels::Buffer<double> origin_, scratch_, target_;  // rows of the route: (2, n_output) a point
    kernels::Buffer<double> fields_;                     // (2, n_output, n_line, n_y)
};

}  // namespace surrogate::impl
