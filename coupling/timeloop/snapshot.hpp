// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace surrogate::timeloop {

/// One array of the state in memory of its own: what a solver's array held, without its gaps.
struct StateField {
    std::string name, unit;
    int32_t dtype = 0;        ///< the solver's: SURROGATE_FLOAT32 or SURROGATE_FLOAT64
    int64_t n_component = 1;  ///< numbers a point
    bool at_output = false;  ///< has the points of the output domain; otherwise of the input domain
    std::vector<std::byte> values;  ///< (n_local, n_component) of dtype
};

/// An integral that steps keep; see surrogate_timeloop_conserve.
struct ExpectedIntegral {
    std::string name;
    bool is_known = false;  ///< its value has been taken
    double value = 0;       ///< expected after the last step
    double scale = 0;       ///< sum of weight times |field|, when it was taken
};

/// A time loop at one time: what a mark remembers, and a checkpoint holds.
struct Snapshot {
    double time_s = 0;
    int64_t step = 0;
    int64_t n_skip = 0;  ///< steps left to the solver by retry_after
    std::vector<ExpectedIntegral> integrals;
    /// Outputs in the card's order, inputs fed by an output of another name, arrays of bind_state.
    std::vector<StateField> fields;
};

}  // namespace surrogate::timeloop
