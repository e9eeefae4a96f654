// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <surrogate/surrogate.hpp>

namespace tracking {

/// An error that every rank throws alike: one of them tells it, and the program ends in good order.
struct Stop : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Returns true if an MPI call has failed. Other ranks may still wait in that call, so the program
/// must neither go on nor end in good order: MPI_Abort ends it.
inline bool is_lost(const surrogate::Error& error) {
    return error.status() == SURROGATE_MPI || error.status() == SURROGATE_BROKEN;
}

}  // namespace tracking
