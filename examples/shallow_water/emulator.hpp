// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <surrogate/surrogate_mpi.hpp>

#include "measure.hpp"
#include "solver.hpp"

namespace shallow_water {

/// The trained model in the place of an hour of solver steps: all calls of libsurrogate are here.
class Emulator {
public:
    /// Loads the model and plans it for the rows of the ranks. Throws surrogate::Error, on all
    /// ranks the same: no such file, a model of other fields or of another grid. Collective.
    Emulator(const Layout& layout, const Latitudes& latitudes, const std::string& model);

    /// One hour. False if a number was not finite, on any rank; the fields are then NaN.
    /// Collective.
    bool step(Fields* fields);

    /// Mean and range of a field in the training data, from the model's card.
    const surrogate_field_info& card(Field field) const { return card_[std::size_t(field)]; }
    PerField means() const;

    const surrogate::Context& context() const { return context_; }

    /// "backend simd, vector avx2, threads 1": how the plan computes.
    std::string how() const;

private:
    surrogate::Domain domain_of(const Latitudes& latitudes) const;

    Layout layout_;
    surrogate::Context context_;
    surrogate::Model model_;
    surrogate::Domain domain_;
    surrogate::Plan plan_;
    std::array<surrogate_field_info, n_field> card_;
    Fields fields_;  // bound as input and output
};

/// Whether an emulated state can be believed, by a plain test.
struct Verdict {
    bool is_good = true;
    std::string reason;  ///< why not
};

/// Good: every number is finite and within the range of its field in the card. The same answer on
/// every rank. Collective.
Verdict judge(const Emulator& emulator, const Fields& fields);

}  // namespace shallow_water
