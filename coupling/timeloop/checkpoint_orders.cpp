// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/checkpoint_orders.hpp"

namespace surrogate::timeloop {

FileOrder::FileOrder(const Domain& domain, int64_t row_bytes) {
    surrogate_order* order = nullptr;
    check(surrogate_order_create(domain.get(), row_bytes, &order));
    order_.reset(order);
    check(surrogate_order_range(order, &first_, &n_));
}

}  // namespace surrogate::timeloop
