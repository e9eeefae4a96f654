// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.hpp>

namespace surrogate::timeloop {

// Return the objects from which a borrowed plan was created. Local; throw surrogate::Error.

inline Context context_of(const surrogate_plan* plan) {
    return Context(detail::made<surrogate_context>(
        [&](surrogate_context** context) { return surrogate_plan_context(plan, context); }));
}
inline Model model_of(const surrogate_plan* plan) {
    return Model(detail::made<surrogate_model>(
        [&](surrogate_model** model) { return surrogate_plan_model(plan, model); }));
}
inline Domain domain_of(const surrogate_plan* plan, bool is_output) {
    return Domain(detail::made<surrogate_domain>(
        [&](surrogate_domain** domain) { return surrogate_plan_domain(plan, is_output, domain); }));
}

}  // namespace surrogate::timeloop
