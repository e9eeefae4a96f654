// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fftw3.h>

#include <complex>
#include <cstdint>
#include <memory>

namespace shallow_water {

using Complex = std::complex<double>;

/// Fourier transforms of one row of longitudes. Rows are transformed one at a time in separate
/// memory, so that the result of a row does not depend on its address.
class Fourier {
public:
    explicit Fourier(int64_t n_lon);

    double* row() { return row_.get(); }         ///< [n_lon]
    Complex* orders() { return orders_.get(); }  ///< [n_lon / 2 + 1]

    /// Computes orders[m] = 2 pi / n_lon sum_j row[j] exp(-2 pi i m j / n_lon).
    void analyse();
    /// Computes row[j] = Re orders[0] + 2 sum_m Re(orders[m] exp(2 pi i m j / n_lon)), an order
    /// n_lon / 2 counted once. Destroys orders.
    void synthesise();

private:
    struct Free {
        void operator()(void* memory) const { fftw_free(memory); }
    };
    struct Destroy {
        void operator()(fftw_plan plan) const { fftw_destroy_plan(plan); }
    };
    using Plan = std::unique_ptr<fftw_plan_s, Destroy>;

    int64_t n_lon_;
    std::unique_ptr<double[], Free> row_;
    std::unique_ptr<Complex[], Free> orders_;
    Plan analysis_, synthesis_;
};

}  // namespace shallow_water
