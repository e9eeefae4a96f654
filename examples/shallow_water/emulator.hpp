// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <surrogate/surrogate_mpi.hpp>
#include <surrogate/surrogate_timeloop.hpp>

#include "measure.hpp"
#include "solver.hpp"

namespace shallow_water {

/// The trained model in the place of an hour of solver steps: all calls of libsurrogate are here.
class Emulator {
public:
    /// Loads the model and plans it for the rows of the ranks. Throws surrogate::Error, on all
    /// ranks the same: no such file, a model of other fields or of another grid. Collective.
    Emulator(const Layout& layout, const Latitudes& latitudes, const std::string& model);

    /// From now on the guards reject an hour that the model was not made for: a state outside the
    /// ranges of the training data or far from its samples, a prediction outside the ranges; and
    /// they correct the mass. Without that only numbers that are not finite are rejected.
    /// Collective.
    void watch();

    /// One hour. False if it was rejected: the fields are then as they were, reason() says why, on
    /// every rank the same. Collective.
    bool step(Fields* fields);
    std::string reason() const;

    /// Remembers a state, and brings it back to the bit. Collective.
    void mark(const Fields& fields);
    void rewind(Fields* fields);

    /// Returns a table of the guards' results.
    std::string report() const { return loop_.report(); }

    /// Mean and range of a field in the training data, from the model's card.
    const surrogate_field_info& card(Field field) const { return card_[std::size_t(field)]; }
    PerField means() const;

    const surrogate::Context& context() const { return context_; }

    /// "backend simd, vector avx2, threads 1": how the plan computes.
    std::string how() const;

private:
    Layout layout_;
    surrogate::Context context_;
    surrogate::Model model_;
    surrogate::Domain domain_;
    surrogate::Plan plan_;
    surrogate::TimeLoop loop_;
    std::array<surrogate_field_info, n_field> card_;
    Fields fields_;  // bound: what the loop steps
};

}  // namespace shallow_water
