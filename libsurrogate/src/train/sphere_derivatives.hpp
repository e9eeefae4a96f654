// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/domain/sphere_domain.hpp"
#include "libsurrogate/src/ranks/row_route.hpp"
#include "libsurrogate/src/train/sample.hpp"

namespace surrogate::impl {

/// Computes derivatives of x = (prediction - target) / scale along the rows and columns of a grid
/// on the sphere, for any distribution over ranks:
///   d_lambda x = Re ifft(i k fft(x)) of each row, k = 0, 1, .., -n_lon / 2, .., -1
///   d_theta x  = Re ifft(2 i k fft(x)) of each column, likewise; it is periodic in pi
/// Each is a product with a circulant antisymmetric matrix, computed directly in a fixed order:
///   (D x)(i) = sum of d(l) (x(i - l) - x(i + l)) over 0 < l < n / 2,
///   d(l) = (-1)^l / (2 tan(pi l / n)) for even n, (-1)^l / (2 sin(pi l / n)) for odd n
/// The highest frequency of even n has no derivative. Source: spec of the sphere's models, section
/// 7 (W11).
class SphereDerivatives {
public:
    /// Plans the exchange of rows. Collective; errors are agreed on.
    SphereDerivatives(const SphereDomain& domain, int64_t n_output, const kernels::Queue& queue);

    /// Computes the derivatives of a sample. scales: (n_output). Collective, without agreement; a
    /// rank that is not alive sends zeros.
    void measure(const kernels::Queue& queue, const Sample& sample, std::span<const double> scales,
                 bool alive);

    /// Returns |d_lambda x| + |d_theta x| at a point of this rank.
    double magnitude(int64_t output, int64_t point) const;

    /// Adds the gradient of  sum w magnitude  over points and outputs with respect to x to `to`
    /// (n_output, n_point). w: the weights of the sample. Collective, without agreement.
    void add_gradient(const kernels::Queue& queue, const Sample& sample, double* to);

    int64_t bytes() const;

private:
    /// Lines along one direction, of which each rank computes some.
    struct Direction {
        RowRoute route;
        int64_t n = 0;                     ///< points of a line
        std::vector<double> coefficients;  ///< d(l), l = 1, 2, ..
        kernels::Buffer<double> lines;     ///< (n, lines of this rank, n_output)
        kernels::Buffer<double> values;    ///< (n_point, n_output): the derivatives
    };

    Direction direction(const SphereDomain& domain, bool is_longitude) const;
    void reserve(Direction& direction, int n_thread);
    void differentiate(const kernels::Queue& queue, Direction& direction, double* values);

    Communicator& comm_;
    int64_t n_output_, n_point_;
    Direction longitude_, latitude_;
    kernels::Buffer<double> scratch_, slopes_;  // rows of the routes; (n_point, n_output)
    kernels::Buffer<double> panels_;            // of the threads
};

}  // namespace surrogate::impl
