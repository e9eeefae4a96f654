// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>

#include "kernels/base/error.hpp"
#include "kernels/base/queue.hpp"

namespace surrogate::kernels {

/// Returns true if a kernel must run its simd version for element type T (float only), false if it
/// must run its ref version. Throws not_supported if the queue requests a backend that is not
/// built; there is no silent fallback.
template <class T>
bool uses_simd(const Queue& queue, const char* kernel) {
    if (queue.backend() == Backend::ref) return false;
    if (queue.backend() == Backend::simd && std::is_same_v<T, float>) return true;
    throw Error(Status::not_supported,
                std::string("kernel '") + kernel + "' has no version for backend '" +
                    name(queue.backend()) + "' in " +
                    (std::is_same_v<T, float> ? "single" : "double") +
                    " precision; backend 'ref' supports both precisions, 'simd' single precision");
}

}  // namespace surrogate::kernels
