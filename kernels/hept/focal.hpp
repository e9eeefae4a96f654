// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace surrogate::kernels::hept {

/// Focal loss of one probability per point, over the points that a mask selects:
///
///   b = -(y log p + (1 - y) log(1 - p)),  at most 100
///   c = exp(-b)
///   loss = sum over selected points of alpha (1 - c)^gamma b
///
/// with the same alpha for both classes. Divided by the number of selected points on all ranks, it
/// is the mean that training minimizes. Source: Lin et al., arXiv:1708.02002; the specification of
/// the family, section 7.
struct Focal {
    double alpha = 0.25;
    double gamma = 2;  ///< at least 1
};

struct FocalSum {
    double loss = 0;
    int64_t n_point = 0;  ///< selected points
};

/// Input of the loss: `values` are probabilities p or logits z with p = 1 / (1 + exp(-z)), y is 0
/// or 1. A point is selected if mask is not 0; all points are selected if mask is empty. Spans of
/// one length, the number of points; they may be empty.
template <class T>
struct FocalPoints {
    enum Kind { probabilities, logits };
    Kind kind = probabilities;
    std::span<const T> values;
    std::span<const uint8_t> y;
    std::span<const uint8_t> mask;
};

/// Returns the loss. The sum runs over points in order, in double. For logits, b keeps its digits
/// where p rounds to 0 or 1. Throws shape if lengths differ, invalid_argument for another y and for
/// gamma < 1.
template <class T>
FocalSum focal_loss(const Focal& focal, const FocalPoints<T>& points);

/// Computes gradient(i) = factor dloss / dvalues(i), 0 where a point is not selected; `factor` is 1
/// / n_point for the mean. The bound of b is ignored: the derivative is the derivative of the
/// formula. With respect to p, db / dp = (p - y) / max(p (1 - p), 1e-12) as in PyTorch. gradient
/// may be `values`. Errors as above.
template <class T>
void focal_gradient(const Focal& focal, const FocalPoints<T>& points, double factor,
                    std::span<T> gradient);

}  // namespace surrogate::kernels::hept
