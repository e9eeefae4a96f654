// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/timeloop/fields.hpp"
#include "coupling/timeloop/snapshot.hpp"
#include "coupling/timeloop/solver_array.hpp"

namespace surrogate::timeloop {

/// Holds the arrays of a solver's state: arrays that steps write, and further arrays of the solver.
class State {
public:
    explicit State(const Fields* fields) : fields_(fields) {}

    /// Binds a further array of the solver; see surrogate_timeloop_bind_state.
    void bind(const char* name, const char* unit, const surrogate_array* array,
              const Placement& input);
    void bind(const char* name, const char* unit, const surrogate_block* block,
              const Placement& input);

    /// Throws SHAPE unless the further arrays have this length.
    void require_length(int64_t n_point) const;

    /// Sets names and types of the fields and allocates their values. All fields must be bound.
    void shape(std::vector<StateField>* fields) const;
    /// Copies the values of the arrays to fields that have their shape; load() copies them back.
    void save(std::vector<StateField>* fields) const;
    void load(const std::vector<StateField>& fields) const;

private:
    struct Own {
        std::string name, unit;
        std::vector<SolverArray> components;
    };
    void set(const char* name, const char* unit, std::vector<SolverArray> components);
    /// Calls visit(name, unit, is_output, components) for each array, in the order of a snapshot.
    template <class Visit>
    void for_each(const Visit& visit) const;

    const Fields* fields_;
    std::vector<Own> own_;
};

}  // namespace surrogate::timeloop
