// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace surrogate::kernels::sphere {

/// The recurrence of the normalised Legendre functions of degrees and orders 0 .. n_degree - 1,
/// without phase. Functions of one colatitude are a triangle [m][l - m], m <= l.
class LegendreTriangle {
public:
    explicit LegendreTriangle(int64_t n_degree);

    static size_t size(int64_t n_degree) {
        return static_cast<size_t>(n_degree * (n_degree + 1) / 2);
    }
    static size_t index(int64_t n_degree, int64_t m, int64_t l) {
        return static_cast<size_t>(m * n_degree - m * (m - 1) / 2 + l - m);
    }
    size_t size() const { return size(n_degree_); }

    /// p: size() numbers.
    void evaluate(double theta, double* p) const;

private:
    int64_t n_degree_;
    std::vector<double> a_, b_;     ///< P[m,l] = a x P[m,l-1] - b P[m,l-2]; triangles
    std::vector<double> diagonal_;  ///< P[l,l] = diagonal * sin(theta) * P[l-1,l-1]
};

}  // namespace surrogate::kernels::sphere
