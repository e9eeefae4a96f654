// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "libsurrogate/src/context/options.hpp"

namespace surrogate::impl {

/// Returns a number that is equal on two ranks if all options that decide what ranks exchange are:
/// backend, precision, reproducible, agree, coordinates, gradients, states. Local, takes no memory.
int64_t exchange_mark(const Options& options);

/// Returns the text for ranks whose marks differ.
std::string different_options();

}  // namespace surrogate::impl
