// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <memory>

namespace surrogate::timeloop {

template <auto destroy>
struct Destroy {
    template <class Handle>
    void operator()(Handle* handle) const {
        destroy(&handle);
    }
};
template <class Handle, auto destroy>
using Owned = std::unique_ptr<Handle, Destroy<destroy>>;

using OwnedContext = Owned<surrogate_context, surrogate_context_destroy>;
using OwnedModel = Owned<surrogate_model, surrogate_model_destroy>;
using OwnedDomain = Owned<surrogate_domain, surrogate_domain_destroy>;
using OwnedOrder = Owned<surrogate_order, surrogate_order_destroy>;

}  // namespace surrogate::timeloop
