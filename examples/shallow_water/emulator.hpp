// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <surrogate/surrogate_mpi.hpp>
#include <surrogate/surrogate_timeloop.hpp>

#include "measure.hpp"
#include "solver.hpp"

namespace shallow_water {

/// The trained model as a replacement of an hour of solver steps; contains all calls of
/// libsurrogate.
class Emulator {
public:
    /// Loads the model and plans it for the rows of the ranks. Throws surrogate::Error, the same on
    /// all ranks, if the file does not exist or the model has other fields or another grid.
    /// Collective.
    Emulator(const Layout& layout, const Latitudes& latitudes, const std::string& model);

    /// Activates the guards. They reject an hour for which the model was not trained (a state
    /// outside the ranges of the training data or far from its samples, a prediction outside the
    /// ranges) and correct the mass. Without them only numbers that are not finite are rejected.
    /// Collective.
    void watch();

    /// Performs one hour. Returns false if it was rejected: the fields are then unchanged, and
    /// reason() has the reason, the same on every rank. Collective.
    bool step(Fields* fields);
    std::string reason() const;

    /// Stores a state, and restores it, bitwise identical. Collective.
    void mark(const Fields& fields);
    void rewind(Fields* fields);

    /// Returns the results of the guards: a table.
    std::string report() const { return loop_.report(); }

    /// Returns mean and range of a field in the training data, from the model card.
    const surrogate_field_info& card(Field field) const { return card_[std::size_t(field)]; }
    PerField means() const;

    const surrogate::Context& context() const { return context_; }

    /// Returns the backend of the plan, such as "backend simd, vector avx2, threads 1".
    std::string how() const;

private:
    Layout layout_;
    surrogate::Context context_;
    surrogate::Model model_;
    surrogate::Domain domain_;
    surrogate::Plan plan_;
    surrogate::TimeLoop loop_;
    std::array<surrogate_field_info, n_field> card_;
    Fields fields_;  // bound to the loop
};

}  // namespace shallow_water
