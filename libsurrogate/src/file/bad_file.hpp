// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/base/error.hpp"

namespace surrogate::impl {

/// Throws Error(bad_file): a file was read and is not valid.
[[noreturn]] inline void fail_bad_file(const std::string& text) {
    throw kernels::Error(kernels::Status::bad_file, text);
}

}  // namespace surrogate::impl
