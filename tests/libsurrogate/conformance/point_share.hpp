// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/libsurrogate/conformance/family_case.hpp"

/// Points for the families that work on scattered points.
namespace surrogate::test {

/// The share of a rank of DarcyCase's points, with ids: FamilyCase::share.
Share share_of_points(const surrogate_domain_info& domain, int64_t n_point,
                      const std::string& partition, int rank, int size);

using MakeDomains = std::function<surrogate_status(surrogate_context*, surrogate_domain** input,
                                                   surrogate_domain** output)>;

/// `n` points of each rank with so many coordinates each, and ids if they are given.
MakeDomains some_points(int64_t n, int64_t n_axis, const std::vector<int64_t>& ids);

/// Two domains of points.
surrogate_status two_sets(surrogate_context* context, surrogate_domain** input,
                          surrogate_domain** output);
/// A grid on the sphere.
surrogate_status a_sphere(surrogate_context* context, surrogate_domain** input,
                          surrogate_domain** output);

/// NetworkCase::file of a file that is there already.
inline auto stored(const std::string& path) {
    return [path] { return std::make_shared<const std::string>(path); };
}

}  // namespace surrogate::test
