// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libsurrogate/src/domain/columns.hpp"
#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"

namespace surrogate::impl {
class DeviceContext;
class GradientProgram;
struct PlanRequest;
}  // namespace surrogate::impl

namespace surrogate::test {

/// Options of a gradient computation.
struct GradientWay {
    std::string precision = "fp64";
    bool reproducible = false, saves_less = false;
    kernels::Queue queue = {};
    impl::GradientOrder order = impl::GradientOrder::real;
    impl::DeviceContext* device = nullptr;  ///< of the context of the model; null: the host
    /// Makes the program instead of the network.
    std::function<std::unique_ptr<impl::GradientProgram>(const impl::PlanRequest&)> program = {};
    std::optional<impl::DropoutDraw> draw = {};  ///< none: nothing is dropped
};

/// Columns of an array [n, n_channel].
inline std::vector<impl::Column> columns_of(std::vector<double>& values, int64_t n_channel) {
    static double none = 0;
    std::vector<impl::Column> columns;
    for (int64_t c = 0; c < n_channel; ++c)
        columns.push_back({values.empty() ? &none : values.data() + c, n_channel, true});
    return columns;
}

}  // namespace surrogate::test
