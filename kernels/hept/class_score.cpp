// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/hept/metrics.hpp"

namespace surrogate::kernels::hept {
namespace {

template <class T>
struct Judgement {
    T p;
    bool y;
    double weight;
};

/// Returns the selected points, the most probable ones first.
template <class T>
std::vector<Judgement<T>> selected_points(std::span<const T> p, std::span<const uint8_t> y,
                                          std::span<const uint8_t> mask,
                                          std::span<const double> weights) {
    const auto is_wrong = [&](size_t n) { return n != 0 && n != p.size(); };
    if (y.size() != p.size() || is_wrong(mask.size()) || is_wrong(weights.size()))
        throw Error(Status::shape,
                    "metrics: " + std::to_string(p.size()) + " probabilities, " +
                        std::to_string(y.size()) + " labels, a mask of " +
                        std::to_string(mask.size()) + " points and " +
                        std::to_string(weights.size()) +
                        " weights; expected one of each per point, or no mask and no weights");
    std::vector<Judgement<T>> points;
    for (size_t i = 0; i < p.size(); ++i) {
        const double weight = weights.empty() ? 1 : weights[i];
        if (weight > 0 && (mask.empty() || mask[i] != 0))
            points.push_back({p[i], y[i] != 0, weight});
    }
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.p > b.p; });
    return points;
}

double ratio(double a, double b) {
    return b > 0 ? a / b : 0;
}

}  // namespace

template <class T>
ClassScore class_score(std::span<const T> p, std::span<const uint8_t> y,
                       std::span<const uint8_t> mask, std::span<const double> weights) {
    const std::vector<Judgement<T>> points = selected_points(p, y, mask, weights);
    double n_true = 0, n_false = 0, n_hit = 0;  // weights of points with p above the
                                                // threshold; n_hit: with p > 0.5
    double precision = 0, area = 0, n_chosen = 0;
    for (size_t i = 0; i < points.size();) {
        const double true_before = n_true, false_before = n_false;
        const T threshold = points[i].p;
        for (; i < points.size() && !(points[i].p < threshold); ++i)
            (points[i].y ? n_true : n_false) += points[i].weight;
        precision += (n_true - true_before) * n_true / (n_true + n_false);
        area += (n_false - false_before) * (n_true + true_before) / 2;
        if (threshold > T(0.5)) {
            n_hit = n_true;
            n_chosen = n_true + n_false;
        }
    }
    return {ratio(precision, n_true),
            ratio(area, n_true * n_false),
            ratio(2 * n_hit, n_chosen + n_true),
            static_cast<int64_t>(points.size()),
            n_true,
            n_false};
}

template ClassScore class_score(std::span<const float>, std::span<const uint8_t>,
                                std::span<const uint8_t>, std::span<const double>);
template ClassScore class_score(std::span<const double>, std::span<const uint8_t>,
                                std::span<const uint8_t>, std::span<const double>);

}  // namespace surrogate::kernels::hept
