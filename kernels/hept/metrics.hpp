// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"

/// Quality measures of embeddings and probabilities. Source: the specification of the family,
/// section 7.
namespace surrogate::kernels::hept {

/// True data of hits, (n_point) each.
struct HitTruth {
    std::span<const int64_t> id;  ///< number of the particle; 0: no particle
    std::span<const uint8_t> is_reconstructable;
    std::span<const float> pt;
};

/// Means over the points with id != 0, reconstructable, pt > pt_least, and with k > 0, where k is
/// the number of other hits of the particle. The first of the n_neighbor + 1 nearest points is
/// dropped: it is the point itself, unless others have the same position.
///   accuracy   matches among the first k / k
///   precision  matches / n_neighbor
///   recall     matches / k
struct TrackingScore {
    double accuracy = 0, precision = 0, recall = 0;
    int64_t n_point = 0;  ///< 0: the means are 0
};

/// Computes one score for each threshold of pt. e (n_point, m) as in nearest_points(). Throws shape
/// if lengths differ, limit if a k is above n_neighbor, because precision and recall are not
/// defined for it.
template <class T>
std::vector<TrackingScore> tracking_scores(const Queue& queue, View<const T, 2> e,
                                           const HitTruth& truth, std::span<const double> pt_least,
                                           int64_t n_neighbor = 19);

/// Scores of finite probabilities p of a class against y (0 or 1), over the points with nonzero
/// mask, or all points if mask is empty. Points count with their weights (>= 0), or equally if
/// weights is empty; a point of weight 0 does not count:
///   average_precision  sum over thresholds of (R_n - R_(n-1)) P_n; points of equal p are grouped
///   roc_auc            area below true positives against false positives, trapezoids at equal p
///   f1                 2 TP / (2 TP + FP + FN) with p > 0.5
/// A score that is not defined (a class has no points) is 0. Throws shape if lengths differ.
struct ClassScore {
    double average_precision = 0, roc_auc = 0, f1 = 0;
    int64_t n_point = 0;
    double positive = 0, negative = 0;  ///< weights of the points with y = 1, y = 0
};
template <class T>
ClassScore class_score(std::span<const T> p, std::span<const uint8_t> y,
                       std::span<const uint8_t> mask, std::span<const double> weights = {});

}  // namespace surrogate::kernels::hept
