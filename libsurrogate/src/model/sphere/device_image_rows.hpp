// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libsurrogate/src/domain/sphere_domain.hpp"
#include "libsurrogate/src/model/sphere/bands.hpp"
#include "libsurrogate/src/ranks/row_exchange.hpp"

namespace surrogate::impl::sphere {

/// Maps the solver's points to the rows of the image that a rank of a device computes. Points on
/// the rank that computes them are read and written in place; other points are redistributed over
/// the host.
class DeviceImageRows {
public:
    /// Collective. Throws not_supported on all ranks if points are redistributed and the two
    /// domains are distributed differently. n_column: the largest number of columns of a port.
    DeviceImageRows(const SphereDomain& input, const SphereDomain& output, const Bands& bands,
                    int64_t n_column);

    RowExchange<float>* rows() { return rows_ ? &*rows_ : nullptr; }
    bool travels() const { return rows_.has_value(); }
    /// Returns, for each position of the own rows, row by row from north to south, each from
    /// longitude 0, its point of the input and of the output.
    const std::vector<int64_t>& points_in() const { return points_in_; }
    const std::vector<int64_t>& points_out() const { return points_out_; }

private:
    std::vector<int64_t> points_in_, points_out_;
    std::optional<RowExchange<float>> rows_;
};

}  // namespace surrogate::impl::sphere
