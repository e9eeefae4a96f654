// SPDX-License-Identifier: Apache-2.0
#include "legendre.hpp"

#include <cmath>
#include <numbers>

namespace shallow_water {

namespace {

/// Values of P_n and its derivative at x, |x| < 1.
struct Polynomial {
    double value = 1, slope = 0;

    Polynomial(int64_t n, double x) {
        double before = 0;
        for (int64_t l = 1; l <= n; ++l) {
            const double next =
                (double(2 * l - 1) * x * value - double(l - 1) * before) / double(l);
            before = value;
            value = next;
        }
        slope = double(n) * (before - x * value) / ((1 - x) * (1 + x));
    }
};

/// Returns root number k of P_n, beginning with the largest, by Newton's method from an asymptotic
/// guess.
double root(int64_t n, int64_t k) {
    double x = std::cos(std::numbers::pi * (double(k) + 0.75) / (double(n) + 0.5));
    for (int iteration = 0; iteration < 100; ++iteration) {
        const Polynomial p(n, x);
        const double step = p.value / p.slope;
        x -= step;
        if (std::abs(step) <= 1e-16) break;
    }
    return x;
}

/// Values of P[m,l] at one latitude, square: row m holds degrees 0 .. n - 1.
class Functions {
public:
    explicit Functions(int64_t n) : n_(n), p_(static_cast<std::size_t>(n * n)) {}

    double operator()(int64_t m, int64_t l) const {
        return p_[static_cast<std::size_t>(m * n_ + l)];
    }

    void evaluate(double x) {
        at(0, 0) = std::sqrt(1 / (4 * std::numbers::pi));
        for (int64_t l = 1; l < n_; ++l) {
            const double twice = double(2 * l);
            at(l, l) = std::sqrt((twice + 1) * (1 + x) * (1 - x) / twice) * at(l - 1, l - 1);
            at(l - 1, l) = std::sqrt(twice + 1) * x * at(l - 1, l - 1);
        }
        for (int64_t l = 2; l < n_; ++l)
            for (int64_t m = 0; m <= l - 2; ++m) recur(m, l, x);
    }

private:
    double& at(int64_t m, int64_t l) { return p_[static_cast<std::size_t>(m * n_ + l)]; }

    void recur(int64_t order, int64_t degree, double x) {
        const double m = double(order), l = double(degree);
        const double a = std::sqrt((2 * l - 1) / (l - m) * (2 * l + 1) / (l + m));
        const double b =
            std::sqrt((l + m - 1) / (l - m) * (2 * l + 1) / (2 * l - 3) * (l - m - 1) / (l + m));
        at(order, degree) = a * x * at(order, degree - 1) - b * at(order, degree - 2);
    }

    int64_t n_;
    std::vector<double> p_;
};

double colatitude_slope(const Functions& p, int64_t order, int64_t degree) {
    const double m = double(order), l = double(degree);
    if (order == 0) return -std::sqrt(l * (l + 1)) * p(1, degree);
    return (std::sqrt((l + m) * (l - m + 1)) * p(order - 1, degree) -
            std::sqrt((l - m) * (l + m + 1)) * p(order + 1, degree)) /
           2;
}

/// Returns m P / sin(theta), without the division.
double over_sine(const Functions& p, int64_t order, int64_t degree) {
    const double m = double(order), l = double(degree);
    if (order == 0) return 0;
    return std::sqrt((2 * l + 1) / (2 * l + 3)) / 2 *
           (std::sqrt((l - m + 1) * (l - m + 2)) * p(order - 1, degree + 1) +
            std::sqrt((l + m + 1) * (l + m + 2)) * p(order + 1, degree + 1));
}

}  // namespace

Latitudes::Latitudes(int64_t n_lat) {
    for (int64_t k = 0; k < n_lat; ++k) {
        // The southern half is exactly the mirror image of the northern one.
        const int64_t mirrored = n_lat - 1 - k;
        double x = k <= mirrored ? root(n_lat, k) : -sine[static_cast<std::size_t>(mirrored)];
        if (k == mirrored) x = 0;
        const double slope = Polynomial(n_lat, x).slope, square = (1 - x) * (1 + x);
        sine.push_back(x);
        cosine.push_back(std::sqrt(square));
        weight.push_back(2 / (square * slope * slope));
    }
}

double Latitudes::latitude(int64_t row) const {
    const auto k = static_cast<std::size_t>(row);
    return std::atan2(sine[k], cosine[k]);
}

std::vector<OrderTable> order_tables(const Latitudes& latitudes, int64_t n_degree,
                                     const std::vector<int64_t>& orders) {
    const std::size_t n_lat = latitudes.sine.size();
    const std::size_t size = static_cast<std::size_t>(n_degree) * n_lat;
    std::vector<OrderTable> tables(
        orders.size(),
        {std::vector<double>(size), std::vector<double>(size), std::vector<double>(size)});
    Functions p(n_degree + 1);  // derivatives need one more degree and order
    for (std::size_t k = 0; k < n_lat; ++k) {
        p.evaluate(latitudes.sine[k]);
        for (std::size_t i = 0; i < orders.size(); ++i)
            for (int64_t l = orders[i]; l < n_degree; ++l) {
                const std::size_t at = static_cast<std::size_t>(l) * n_lat + k;
                tables[i].p[at] = p(orders[i], l);
                tables[i].d0[at] = colatitude_slope(p, orders[i], l);
                tables[i].d1[at] = over_sine(p, orders[i], l);
            }
    }
    return tables;
}

}  // namespace shallow_water
