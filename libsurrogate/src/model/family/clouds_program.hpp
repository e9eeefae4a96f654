// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/family/network.hpp"

/// Several clouds for networks that mix all points they are given: a program for each cloud.
///
/// CloudLayout says which rank computes a cloud. Points that another rank computes move there
/// before a run, and predictions move back; clouds that all ranks compute come first, one after
/// another; then the large ones of this rank, each with all threads; then the others, one thread
/// each. In the reproducible mode predictions have the bits that a plan of each cloud alone gives.
/// Workspace is a program's for each cloud. For gradients a cloud is computed by one rank.
namespace surrogate::impl {

/// Returns true if make_clouds_program() can run the network: inputs are real numbers at points,
/// and outputs are all at points or all at clouds.
bool runs_by_cloud(const Network& network);

/// Makes the program for a domain of several clouds. Throws not_supported if the network does not
/// run by cloud (runs_by_cloud()) or the domains have different points. The network outlives the
/// program. Local.
std::unique_ptr<Program> make_clouds_program(const Network& network, const PlanRequest& request);
std::unique_ptr<GradientProgram> make_clouds_gradient_program(const Network& network,
                                                              const PlanRequest& request);

}  // namespace surrogate::impl
