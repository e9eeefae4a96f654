// SPDX-License-Identifier: Apache-2.0
// Orders of points. Contracts stand in surrogate.h.
#include "libsurrogate/src/api/handles.hpp"

using namespace surrogate::impl;

surrogate_status surrogate_ordering_create(const surrogate_domain* domain, int64_t row_bytes,
                                           surrogate_ordering** order) {
    return guarded(owner_of(domain), [&] {
        require(domain, "domain");
        surrogate_context owner = domain->owner;
        create<PointOrder>(&owner, "order", order, &surrogate_ordering::order, domain->domain.get(),
                           row_bytes);
    });
}

surrogate_status surrogate_ordering_range(const surrogate_ordering* order, int64_t* first,
                                          int64_t* n) {
    return guarded(owner_of(order), [&] {
        require(order, "order");
        require(first, "first");
        require(n, "n");
        const Range rows = order->order->rows();
        *first = rows.begin;
        *n = rows.size();
    });
}

surrogate_status surrogate_ordering_to_canonical(const surrogate_ordering* order, int64_t row_bytes,
                                                 const void* local, void* ordered) {
    return guarded(owner_of(order), [&] {
        require(order, "order");
        order->order->forward(row_bytes, local, ordered);
    });
}

surrogate_status surrogate_ordering_to_local(const surrogate_ordering* order, int64_t row_bytes,
                                             const void* ordered, void* local) {
    return guarded(owner_of(order), [&] {
        require(order, "order");
        order->order->backward(row_bytes, ordered, local);
    });
}

void surrogate_ordering_destroy(surrogate_ordering** order) {
    if (!order) return;
    delete *order;
    *order = nullptr;
}
