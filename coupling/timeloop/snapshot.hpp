// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace surrogate::timeloop {

/// A copy of one array of the state: the values of a solver's array, stored contiguously.
struct StateField {
    std::string name, unit;
    int32_t dtype = 0;        ///< SURROGATE_FLOAT32 or SURROGATE_FLOAT64, as in the solver
    int64_t n_component = 1;  ///< numbers per point
    bool at_output = false;   ///< on the points of the output domain, else of the input domain
    std::vector<std::byte> values;  ///< (n_local, n_component) of dtype
};

/// An integral that steps keep; see surrogate_timeloop_conserve.
struct ExpectedIntegral {
    std::string name;
    bool is_known = false;  ///< the value has been computed
    double value = 0;       ///< expected after the last step
    double scale = 0;       ///< sum of weight times |field| when the value was computed
};

/// The state of a time loop at one time, as kept in memory and in checkpoints.
struct Snapshot {
    double time_s = 0;
    int64_t step = 0;
    int64_t n_skip = 0;  ///< steps left to the solver by retry_after
    std::vector<ExpectedIntegral> integrals;
    /// Outputs in the card's order, inputs connected to an output of another name, arrays of
    /// bind_state.
    std::vector<StateField> fields;
};

}  // namespace surrogate::timeloop
