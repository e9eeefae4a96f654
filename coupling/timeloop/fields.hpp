// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coupling/timeloop/solver_array.hpp"

namespace surrogate::timeloop {

/// One input or output of the card: the solver's array, and a column of doubles between it and the
/// plan, which is bound to the column.
struct Field {
    std::string name, unit;
    double mean, std;  ///< of the card
    SolverArray array;
    bool is_bound = false;
    std::vector<double> work;  ///< (n_local)
    /// Location of the numbers in the plan, if the domain does not store them side by side.
    std::vector<double> stepped;
    SolverArray stepped_points;
    int64_t n() const { return static_cast<int64_t>(work.size()); }

    /// Between the column and the plan's place, around a run.
    void to_plan() const;
    void from_plan();
};

/// The fields of a plan's card, its coordinates left out.
class Fields {
public:
    /// Errors: INVALID_ARGUMENT (the card names no outputs).
    Fields(surrogate_plan* plan, const surrogate_model* model);

    std::vector<Field>& inputs() { return inputs_; }
    std::vector<Field>& outputs() { return outputs_; }
    const std::vector<Field>& inputs() const { return inputs_; }
    const std::vector<Field>& outputs() const { return outputs_; }
    /// The output that is this input of the next evaluation, or -1.
    int source_of(size_t input) const { return sources_[input]; }

    /// input, output: of the points that this rank has now. Errors: see surrogate_timeloop_bind.
    void bind(const char* name, const char* unit, const surrogate_array* array,
              const Placement& input, const Placement& output);
    void bind(const char* name, const char* unit, const surrogate_block* block,
              const Placement& input, const Placement& output);
    void unbind();
    void feed(const char* output, const char* input);

    /// Throws INVALID_ARGUMENT or SHAPE unless everything is bound to arrays of these lengths.
    void require_bound(int64_t n_input, int64_t n_output) const;

    /// Index of an output. Errors: UNKNOWN_NAME, INVALID_ARGUMENT (NULL).
    size_t output_of(const char* name) const;
    bool has(const std::string& name) const;

    /// Into the work column of an input: the solver's values, or with `is_again` the outcome of the
    /// evaluation before where one feeds it. Points first .. first + count - 1.
    void read(size_t input, bool is_again, int64_t first, int64_t count);

    /// Predictions into the solver's arrays: those of the outputs, and of the inputs they feed.
    void write() const;

private:
    struct Found {
        std::vector<Field*> inputs, outputs;  ///< by component; either may be empty
    };
    Found find(const char* name);
    void check_counts(const Found& found, int64_t n_input, int64_t n_output) const;
    bool is_written(const Found& found) const;
    void require_unit(const Found& found, const char* unit) const;
    void set(const Found& found, const Placement& input, const Placement& output,
             const auto& array_of);
    void connect(Field* field, bool is_input, const Placement& placement);
    std::string list() const;

    surrogate_plan* plan_;
    std::vector<Field> inputs_, outputs_;
    std::vector<int> sources_;
};

}  // namespace surrogate::timeloop
