// SPDX-License-Identifier: Apache-2.0
#include "kernels/hept/focal.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/base/error.hpp"

namespace surrogate::kernels::hept {
namespace {

/// Terms of one point: b, 1 - c, and the derivative of b with respect to the value.
struct Entropy {
    double b, miss, slope;
};

constexpr double largest_b = 100;

/// Computes the terms from a probability. `hit` is the probability of the class y. Below exp(-100),
/// b is 100.
Entropy of_probability(double p, bool y) {
    const double hit = y ? p : 1 - p, miss = y ? 1 - p : p;
    double b = largest_b;
    if (hit > 0.5) {
        b = -std::log1p(-miss);
    } else if (hit > 0 || std::isnan(p)) {
        b = std::min(largest_b, -std::log(hit));
    }
    return {b, miss, (p - (y ? 1 : 0)) / std::max(p * (1 - p), 1e-12)};
}

/// Computes the terms from a logit. For y = 1, b = log(1 + exp(-z)) and 1 - c = 1 / (1 + exp(z));
/// for y = 0 with -z. The exponential never overflows.
Entropy of_logit(double z, bool y) {
    const double margin = y ? z : -z;
    const double e = std::exp(-std::abs(margin));
    const double b = std::log1p(e) + std::max(-margin, 0.0);
    const double miss = (margin < 0 ? 1 : e) / (1 + e);
    return {std::min(b, largest_b), miss, y ? -miss : miss};
}

template <class T>
Entropy entropy(const FocalPoints<T>& points, size_t i) {
    const auto value = static_cast<double>(points.values[i]);
    const bool y = points.y[i] != 0;
    return points.kind == FocalPoints<T>::logits ? of_logit(value, y) : of_probability(value, y);
}

template <class T>
bool is_selected(const FocalPoints<T>& points, size_t i) {
    return points.mask.empty() || points.mask[i] != 0;
}

template <class T>
void check(const Focal& focal, const FocalPoints<T>& points) {
    const size_t n = points.values.size();
    if (points.y.size() != n || (!points.mask.empty() && points.mask.size() != n))
        throw Error(Status::shape, "focal loss of " + std::to_string(n) + " points with " +
                                       std::to_string(points.y.size()) + " labels and a mask of " +
                                       std::to_string(points.mask.size()) +
                                       "; expected one of each per point, or no mask");
    if (!(focal.gamma >= 1))
        throw Error(
            Status::invalid_argument,
            "focal loss with gamma = " + std::to_string(focal.gamma) + ", expected gamma >= 1");
    for (size_t i = 0; i < n; ++i) {
        if (points.y[i] > 1)
            throw Error(Status::invalid_argument, "focal loss: label " +
                                                      std::to_string(points.y[i]) + " of point " +
                                                      std::to_string(i) + ", expected 0 or 1");
    }
}

}  // namespace

template <class T>
FocalSum focal_loss(const Focal& focal, const FocalPoints<T>& points) {
    check(focal, points);
    FocalSum sum;
    for (size_t i = 0; i < points.values.size(); ++i) {
        if (!is_selected(points, i)) continue;
        const Entropy of = entropy(points, i);
        sum.loss += focal.alpha * std::pow(of.miss, focal.gamma) * of.b;
        ++sum.n_point;
    }
    return sum;
}

/// Returns d/db (1 - c)^gamma b = (1 - c)^(gamma - 1) (1 - c + gamma c b).
template <class T>
void focal_gradient(const Focal& focal, const FocalPoints<T>& points, double factor,
                    std::span<T> gradient) {
    check(focal, points);
    if (gradient.size() != points.values.size())
        throw Error(Status::shape, "focal loss: gradient of " + std::to_string(gradient.size()) +
                                       " points, expected " + std::to_string(points.values.size()));
    for (size_t i = 0; i < gradient.size(); ++i) {
        double slope = 0;
        if (is_selected(points, i)) {
            const Entropy of = entropy(points, i);
            const double of_b = of.miss + focal.gamma * (1 - of.miss) * of.b;
            slope = focal.alpha * std::pow(of.miss, focal.gamma - 1) * of_b * of.slope;
        }
        gradient[i] = static_cast<T>(factor * slope);
    }
}

template FocalSum focal_loss(const Focal&, const FocalPoints<float>&);
template FocalSum focal_loss(const Focal&, const FocalPoints<double>&);
template void focal_gradient(const Focal&, const FocalPoints<float>&, double, std::span<float>);
template void focal_gradient(const Focal&, const FocalPoints<double>&, double, std::span<double>);

}  // namespace surrogate::kernels::hept
