// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/timeloop/fields.hpp"
#include "coupling/timeloop/snapshot.hpp"
#include "coupling/timeloop/solver_array.hpp"

namespace surrogate::timeloop {

/// The arrays that make up a solver's state: what steps write, and arrays of the solver's own.
class State {
public:
    explicit State(const Fields* fields) : fields_(fields) {}

    /// Arrays of the solver's own; see surrogate_timeloop_bind_state.
    void bind(const char* name, const char* unit, const surrogate_array* array,
              const Placement& input);
    void bind(const char* name, const char* unit, const surrogate_block* block,
              const Placement& input);

    /// Throws SHAPE unless arrays of the solver's own have this length.
    void require_length(int64_t n_point) const;

    /// Names, types and room for the values. Fields are bound.
    void shape(std::vector<StateField>* fields) const;
    /// Values of arrays that have this shape.
    void save(std::vector<StateField>* fields) const;
    void load(const std::vector<StateField>& fields) const;

private:
    struct Own {
        std::string name, unit;
        std::vector<SolverArray> components;
    };
    void set(const char* name, const char* unit, std::vector<SolverArray> components);
    /// visit(name, unit, is_output, components) for each array, in the order of a snapshot.
    template <class Visit>
    void for_each(const Visit& visit) const;

    const Fields* fields_;
    std::vector<Own> own_;
};

}  // namespace surrogate::timeloop
