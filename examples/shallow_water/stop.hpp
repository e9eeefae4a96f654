// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <surrogate/surrogate.hpp>

namespace shallow_water {

/// An error that every rank throws: one of them prints it, and the program ends regularly.
struct Stop : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Returns true if an MPI call has failed. Other ranks may still wait in that call, so the program
/// must neither continue nor end regularly: MPI_Abort ends it.
inline bool is_lost(const surrogate::Error& error) {
    return error.status() == SURROGATE_MPI || error.status() == SURROGATE_BROKEN;
}

}  // namespace shallow_water
