// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace tracking {

/// An error that every rank throws alike: one of them tells it, and the program ends in good order.
struct Stop : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace tracking
