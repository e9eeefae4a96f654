// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/spectrum/spectrum.hpp"

namespace surrogate::tool {

/// Input of a bare network: this rank's points, and the inputs (in_dim, n) of each sample.
struct SpectrumInput {
    Domain domain;
    std::vector<Eigen::MatrixXd> samples;
    int64_t n_point = 0;  ///< of all ranks
};

/// Reads the input from the mesh, normalized by the card, or from the check case of the file.
/// Collective; errors as in spectrum().
SpectrumInput read_spectrum_input(const Job& job, const Context& context, const Model& model,
                                  const SpectrumArguments& arguments);

}  // namespace surrogate::tool
