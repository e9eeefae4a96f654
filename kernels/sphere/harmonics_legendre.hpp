// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace surrogate::kernels::sphere {

/// Returns the number of functions of degrees l < n_degree and orders m <= l. They are stored in
/// one array, degree by degree, so that the functions of lower degrees come first.
inline size_t triangle_size(int64_t n_degree) {
    return static_cast<size_t>(n_degree * (n_degree + 1) / 2);
}
inline size_t triangle_index(int64_t l, int64_t m) {
    return triangle_size(l) + static_cast<size_t>(m);
}

/// The recurrence of the normalized Legendre functions of degrees 0 .. n_degree - 1, without phase.
class LegendreRecurrence {
public:
    explicit LegendreRecurrence(int64_t n_degree);

    /// Computes all functions at one colatitude. p: a triangle.
    void evaluate(double theta, double* p) const;

private:
    int64_t n_degree_;
    std::vector<double> a_, b_;     ///< P[m,l] = a x P[m,l-1] - b P[m,l-2]; triangles
    std::vector<double> diagonal_;  ///< P[l,l] = diagonal sin(theta) P[l-1,l-1]
};

}  // namespace surrogate::kernels::sphere
