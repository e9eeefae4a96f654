// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coupling/timeloop/solver_array.hpp"

namespace surrogate::timeloop {

/// One input or output of the card: the solver's array, and a column of doubles between the array
/// and the plan. The plan is bound to the column.
struct Field {
    std::string name, unit;
    double mean, std;  ///< from the card
    SolverArray array;
    bool is_bound = false;
    std::vector<double> work;  ///< (n_local)
    /// Holds the numbers for the plan if the domain does not store them contiguously.
    std::vector<double> stepped;
    SolverArray stepped_points;
    int64_t n() const { return static_cast<int64_t>(work.size()); }

    /// Copies between the column and the memory that the plan is bound to, before and after a run.
    void to_plan() const;
    void from_plan();
};

/// Holds the fields of a plan's card, except coordinates.
class Fields {
public:
    /// Throws INVALID_ARGUMENT if the card names no outputs.
    Fields(surrogate_plan* plan, const surrogate_model* model);

    std::vector<Field>& inputs() { return inputs_; }
    std::vector<Field>& outputs() { return outputs_; }
    const std::vector<Field>& inputs() const { return inputs_; }
    const std::vector<Field>& outputs() const { return outputs_; }
    /// Returns the inputs that are one number per cloud. Their arrays have a row for each cloud, or
    /// one for all. The plan reads them.
    const std::vector<Field>& numbers() const { return numbers_; }
    /// Returns the output that is this input of the next evaluation, or -1.
    int source_of(size_t input) const { return sources_[input]; }

    /// Binds a field. `input` and `output` describe the points that this rank has now. Errors: see
    /// surrogate_timeloop_bind.
    void bind(const char* name, const char* unit, const surrogate_array* array,
              const Placement& input, const Placement& output);
    void bind(const char* name, const char* unit, const surrogate_block* block,
              const Placement& input, const Placement& output);
    void unbind();
    void feed(const char* output, const char* input);

    /// Throws INVALID_ARGUMENT or SHAPE unless every field is bound to an array of these lengths,
    /// NOT_FINITE for a number per cloud.
    void require_bound(int64_t n_input, int64_t n_output, int64_t n_cloud) const;

    /// Returns the index of an output. Throws UNKNOWN_NAME or INVALID_ARGUMENT (NULL).
    size_t output_of(const char* name) const;
    bool has(const std::string& name) const;

    /// Fills the work column of an input for points first .. first + count - 1. Reads the solver's
    /// values, or, with `is_again`, the output of the previous evaluation if an output is connected
    /// to the input.
    void read(size_t input, bool is_again, int64_t first, int64_t count);

    /// Writes the predictions to the solver's arrays of the outputs, and of the inputs that are
    /// connected to them.
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
    bool bind_numbers(const char* name, const char* unit, const surrogate_array* array);
    static void check_numbers(const Field& field, int64_t n_cloud);
    std::string list() const;

    surrogate_plan* plan_;
    std::vector<Field> inputs_, outputs_, numbers_;
    std::vector<int> sources_;
};

}  // namespace surrogate::timeloop
