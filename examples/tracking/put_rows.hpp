// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <surrogate/surrogate_dataset.hpp>
#include <vector>

namespace tracking {

/// Writes of(row) of rows as values `first`, .. of a variable. A write error is reported by finish,
/// on all ranks. Local.
template <class Value, class Row, class Of>
void put_rows(surrogate::NewDataset* set, const char* name, int64_t first,
              const std::vector<Row>& rows, const Of& of) {
    std::vector<Value> values;
    for (const Row& row : rows) values.push_back(of(row));
    const surrogate_array array =
        surrogate::column(values.data(), static_cast<int64_t>(values.size()));
    surrogate_dataset_put(set->get(), name, first, &array);
}

}  // namespace tracking
