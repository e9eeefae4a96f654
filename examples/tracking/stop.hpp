// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <surrogate/surrogate.hpp>

namespace tracking {

/// An error that every rank throws: one of them prints it, and the program ends regularly.
struct Stop : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Returns true if an MPI call has failed. Other ranks may still wait in that call, so the program
/// must neither continue nor end regularly: MPI_Abort ends it.
inline bool is_lost(const surrogate::Error& error) {
    return error.status() == SURROGATE_MPI || error.status() == SURROGATE_BROKEN;
}

/// Runs collective work. An error of the library, the same on all ranks, becomes Stop.
template <class Work>
void stop_on_error(const Work& work) {
    try {
        work();
    } catch (const surrogate::Error& error) {
        if (is_lost(error)) throw;
        throw Stop(error.what());
    }
}

}  // namespace tracking
