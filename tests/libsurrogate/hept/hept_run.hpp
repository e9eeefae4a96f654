// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "libsurrogate/src/model/hept/forward.hpp"
#include "tests/libsurrogate/hept/hept_case.hpp"

namespace surrogate::test {

inline kernels::Queue simd(int n_thread = 1,
                           kernels::VectorLevel level = kernels::best_vector_level()) {
    return {kernels::Backend::simd, level, n_thread};
}

/// The network of a case that has run once. Collective.
template <class T>
struct HeptRun {
    HeptRun(const HeptCase& of, const kernels::Queue& queue, const FixedOrders* orders = nullptr)
        : given(of),
          plan(of.tokens(), orders),
          layers(of.config, of.master),
          forward(of.config, layers, queue),
          x(of.features<T>()),
          y(of.config.n_out(), of.tokens().n_point()) {
        forward.resize(given.comm(), plan);
        set_coordinates(given);
        run();
    }

    void set_coordinates(const HeptCase& from) {
        forward.set_coordinates(given.comm(), from.coordinates<T>().tiles);
    }
    bool run() { return is_finite = forward.run(given.comm(), x.tiles, y.tiles); }

    /// (n of the file, n_out), after the sigmoid if there is one; `missing` where another rank has
    /// the point.
    std::vector<double> predictions(double missing = 0) const {
        const int64_t n_out = given.config.n_out();
        std::vector<double> values(static_cast<size_t>(given.points.n() * n_out), missing);
        for (int64_t i = 0; i < y.tiles.n_point; ++i) {
            for (int64_t c = 0; c < n_out; ++c) {
                const auto out = static_cast<double>(y(c, i));
                values[static_cast<size_t>(given.row(i) * n_out + c)] =
                    given.config.is_pileup ? 1 / (1 + std::exp(-out)) : out;
            }
        }
        return values;
    }

    const HeptCase& given;
    const FixedOrderPlan plan;
    const impl::hept::Layers<T> layers;
    impl::hept::Forward<T> forward;
    OwnTiles<T> x, y;
    bool is_finite = false;
};

}  // namespace surrogate::test
