// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.hpp>

#include "transform.hpp"

namespace shallow_water {

/// Creates a domain of libsurrogate from the solver's rows, given by their latitudes, so that the
/// library can check them. Collective; throws surrogate::Error.
surrogate::Domain sphere_domain(const surrogate::Context& context, const Layout& layout,
                                const Latitudes& latitudes);

}  // namespace shallow_water
