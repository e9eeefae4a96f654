// SPDX-License-Identifier: Apache-2.0
#include "fourier.hpp"

#include <numbers>
#include <stdexcept>
#include <string>

namespace shallow_water {

namespace {

template <class T>
T* allocate(int64_t n) {
    void* memory = fftw_malloc(sizeof(T) * static_cast<std::size_t>(n));
    if (!memory) throw std::bad_alloc();
    T* first = static_cast<T*>(memory);
    for (int64_t i = 0; i < n; ++i) new (first + i) T(0);
    return first;
}

fftw_complex* as_fftw(Complex* orders) {
    return reinterpret_cast<fftw_complex*>(orders);
}

}  // namespace

// FFTW_ESTIMATE chooses by rule, not by measured times: every rank and every run computes the same.
Fourier::Fourier(int64_t n_lon)
    : n_lon_(n_lon),
      row_(allocate<double>(n_lon)),
      orders_(allocate<Complex>(n_lon / 2 + 1)),
      analysis_(fftw_plan_dft_r2c_1d(static_cast<int>(n_lon), row(), as_fftw(orders()),
                                     FFTW_ESTIMATE | FFTW_PRESERVE_INPUT)),
      synthesis_(fftw_plan_dft_c2r_1d(static_cast<int>(n_lon), as_fftw(orders()), row(),
                                      FFTW_ESTIMATE | FFTW_DESTROY_INPUT)) {
    if (!analysis_ || !synthesis_)
        throw std::runtime_error("FFTW has no plan for rows of " + std::to_string(n_lon));
}

void Fourier::analyse() {
    fftw_execute(analysis_.get());
    const double scale = 2 * std::numbers::pi / double(n_lon_);
    for (int64_t m = 0; m <= n_lon_ / 2; ++m) orders()[m] *= scale;
}

void Fourier::synthesise() {
    orders()[0] = orders()[0].real();
    if (n_lon_ % 2 == 0) orders()[n_lon_ / 2] = orders()[n_lon_ / 2].real();
    fftw_execute(synthesis_.get());
}

}  // namespace shallow_water
