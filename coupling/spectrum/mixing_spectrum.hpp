// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/spectrum/flare_keys.hpp"

namespace surrogate::tool {

/// Returns the eigenvalues of the mixing matrix of every head of a block: W = R P, N x N, for the N
/// points of all ranks, in which each row is a weighted mean. At most num_latents of them are
/// nonzero. They are the eigenvalues of T = J J^T, num_latents x num_latents, with
///   S = scores, latents x points,   Lm, Ln: log of the sums of exp(S) over points, over latents
///   J = exp(S - (Lm + Ln) / 2)
/// The computation is in double precision; T is summed over points and ranks, and the ranks solve
/// the heads in turn. keys: (channel_dim, n) of this rank's points, n may be 0. Returns
/// [head][num_latents] on rank 0, descending, in 0 .. 1; empty on other ranks. Memory: 16 heads x
/// latents^2 bytes per rank. Collective. Throws Failure (not_passed) if the largest eigenvalue,
/// which is exactly 1, differs from 1 by more than 1e-9 or is NaN. Source: spec of FLARE, section
/// 11 (arXiv:2508.12594).
std::vector<std::vector<double>> mixing_spectrum(const Job& job, const Context& context,
                                                 const FlareKeys& block, const FlareShape& shape,
                                                 const Eigen::MatrixXd& keys);

/// Returns the effective number of eigenvalues: exp of the entropy of w / sum w.
double effective_rank(const std::vector<double>& eigenvalues);

}  // namespace surrogate::tool
