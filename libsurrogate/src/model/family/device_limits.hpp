// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace surrogate::impl {

/// Throws not_supported: devices take `family` with `what` up to `most` only, the model has
/// `value`.
void require_at_most_on_device(const char* family, const char* what, int64_t value, int64_t most);

/// Throws not_supported: `family` with `what` is not built for devices.
[[noreturn]] void refuse_on_device(const char* family, const std::string& what);

/// Throws not_supported where `n_rank` is more than one.
void require_one_rank_on_device(const char* family, int n_rank);

}  // namespace surrogate::impl
