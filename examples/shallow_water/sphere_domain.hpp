// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.hpp>

#include "transform.hpp"

namespace shallow_water {

/// The solver's rows as a domain of libsurrogate, told by their latitudes, so that the library sees
/// what the solver means. Collective; throws surrogate::Error.
surrogate::Domain sphere_domain(const surrogate::Context& context, const Layout& layout,
                                const Latitudes& latitudes);

}  // namespace shallow_water
