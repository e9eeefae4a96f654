// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_image_rows.hpp"

#include <algorithm>
#include <numeric>

#include "libsurrogate/src/model/family/device_limits.hpp"

namespace surrogate::impl::sphere {

namespace {

bool has_bands(const SphereDomain& domain, const Bands& bands) {
    if (!domain.has_whole_rows()) return false;
    for (int rank = 0; rank < bands.n_rank(); ++rank) {
        const Range rows = domain.model_rows(rank), computed = bands.of(rank);
        if (rows.size() == 0 && computed.size() == 0) continue;
        if (rows.begin != computed.begin || rows.end != computed.end) return false;
    }
    return true;
}

std::vector<int64_t> positions_of(const SphereDomain& domain) {
    std::vector<int64_t> positions(static_cast<size_t>(domain.own().size()));
    for (int64_t i = 0; i < std::ssize(positions); ++i)
        positions[static_cast<size_t>(i)] = domain.position(i);
    return positions;
}

std::vector<int64_t> points_of(const SphereDomain& domain, int64_t first) {
    const std::vector<int64_t> positions = positions_of(domain);
    std::vector<int64_t> points(positions.size());
    for (size_t i = 0; i < positions.size(); ++i)
        points[static_cast<size_t>(positions[i] - first)] = static_cast<int64_t>(i);
    return points;
}

/// Positions, counted band by band in the order of ranks.
std::vector<int64_t> by_ranks(std::vector<int64_t> positions, const Bands& bands,
                              std::span<const int64_t> begins) {
    const int64_t n_lon = bands.grid().n_lon;
    for (int64_t& position : positions) {
        for (int rank = 0; rank < bands.n_rank(); ++rank) {
            const Range rows = bands.of(rank);
            const int64_t row = position / n_lon;
            if (row < rows.begin || row >= rows.end) continue;
            position += begins[static_cast<size_t>(rank)] - rows.begin * n_lon;
            break;
        }
    }
    return positions;
}

}  // namespace

DeviceImageRows::DeviceImageRows(const SphereDomain& input, const SphereDomain& output,
                                 const Bands& bands, int64_t n_column) {
    Communicator& comm = output.context().comm();
    const Range own = bands.of(comm.rank());
    const int64_t n_lon = bands.grid().n_lon;
    if (has_bands(input, bands) && has_bands(output, bands)) {
        comm.agree([&] {
            points_in_ = points_of(input, own.begin * n_lon);
            points_out_ = points_of(output, own.begin * n_lon);
        });
        return;
    }
    std::vector<int64_t> begins, positions;
    comm.agree([&] {
        if (positions_of(input) != positions_of(output))
            refuse_on_device("a network of the sphere",
                             "input and output that are distributed differently over ranks");
        begins.push_back(0);
        for (int rank = 0; rank < bands.n_rank(); ++rank)
            begins.push_back(begins.back() + bands.of(rank).size() * n_lon);
        positions = by_ranks(positions_of(output), bands, begins);
        points_in_.resize(static_cast<size_t>(own.size() * n_lon));
        std::iota(points_in_.begin(), points_in_.end(), int64_t{0});
        points_out_ = points_in_;
    });
    rows_.emplace(comm, RowRoute(comm, positions, begins), n_column);
}

}  // namespace surrogate::impl::sphere
