// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/canonical_order.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>

#include "libsurrogate/src/ranks/parallel_sort.hpp"

namespace surrogate::impl {

namespace {

constexpr uint64_t sign = uint64_t{1} << 63;

/// One word with the id, or one word for each coordinate; has_cloud: before them one with the
/// cloud.
SortKeys keys_of(const PointDomain& domain, const std::string& asker, bool has_cloud) {
    if (!domain.has_ids() && domain.n_axis() == 0 && domain.n_global() > 1) {
        throw Error(
            Status::invalid_argument,
            asker + " needs an order of the points: give the domain global ids or coordinates");
    }
    const int64_t n = domain.n_local();
    const int first = has_cloud ? 1 : 0;
    SortKeys keys(n, first + (domain.has_ids() ? 1 : std::max(1, domain.n_axis())));
    for (int64_t i = 0; i < n && has_cloud; ++i)
        keys[i][0] = static_cast<uint64_t>(domain.clouds()[i]);
    if (domain.has_ids()) {
        for (int64_t i = 0; i < n; ++i)
            keys[i][static_cast<size_t>(first)] = static_cast<uint64_t>(domain.ids()[i]) ^ sign;
        return keys;
    }
    for (int axis = 0; axis < domain.n_axis(); ++axis) {
        for (int64_t i = 0; i < n; ++i) {
            // + 0.0 makes one zero of two: points at 0 and -0 are equal.
            const auto bits = std::bit_cast<uint64_t>(domain.coordinate(axis)[i] + 0.0);
            keys[i][static_cast<size_t>(first + axis)] = bits & sign ? ~bits : bits | sign;
        }
    }
    return keys;
}

std::string key_text(const PointDomain& domain, std::span<const uint64_t> key, bool has_cloud) {
    const std::string cloud = has_cloud ? " in cloud " + std::to_string(key[0]) : "";
    const std::span<const uint64_t> words = key.subspan(has_cloud ? 1 : 0);
    if (domain.has_ids())
        return "global id " + std::to_string(static_cast<int64_t>(words[0] ^ sign)) + cloud;
    std::string text;
    for (const uint64_t k : words) {
        text += (text.empty() ? "" : ", ") +
                std::to_string(std::bit_cast<double>(k & sign ? k ^ sign : ~k));
    }
    return "coordinates (" + text + ")" + cloud;
}

[[noreturn]] void refuse_equal(const PointDomain& domain, const std::string& asker,
                               std::span<const uint64_t> key, bool has_cloud) {
    throw Error(Status::invalid_argument,
                asker + " needs an order of the points, but two of them have the same " +
                    key_text(domain, key, has_cloud) +
                    (domain.has_ids() ? "; leave ghost points out"
                                      : "; give global ids, or leave ghost points out"));
}

std::vector<int64_t> positions_of(const PointDomain& domain, const char* asker, bool has_cloud) {
    Communicator& comm = domain.context().comm();
    SortKeys keys;
    comm.agree([&] { keys = keys_of(domain, asker, has_cloud); });
    const auto refuse = [&](std::span<const uint64_t> key) {
        refuse_equal(domain, asker, key, has_cloud);
    };
    // By reference: a copy of what it refers to would take memory outside of an agreement.
    return sorted_positions(comm, std::move(keys), std::cref(refuse));
}

/// Canonical positions, but points of weight 0 come behind all others.
std::vector<int64_t> positions_by_weight(const PointDomain& domain) {
    Communicator& comm = domain.context().comm();
    SortKeys keys;
    comm.agree([&] {
        const SortKeys order = keys_of(domain, "reproducible mode", false);
        keys = SortKeys(order.size(), order.width + 1);
        for (int64_t i = 0; i < order.size(); ++i) {
            keys[i][0] = domain.weights()[i] == 0 ? 1 : 0;
            std::ranges::copy(order[i], keys[i].begin() + 1);
        }
    });
    const auto refuse = [&](std::span<const uint64_t> key) {
        refuse_equal(domain, "reproducible mode", key.subspan(1), false);
    };
    return sorted_positions(comm, std::move(keys), std::cref(refuse));
}

}  // namespace

std::vector<int64_t> canonical_positions(const PointDomain& domain, const char* asker,
                                         bool keeps_clouds) {
    return positions_of(domain, asker, keeps_clouds && domain.has_clouds() && !domain.has_ids());
}

std::vector<int64_t> positions_by_cloud(const PointDomain& domain) {
    return positions_of(domain, "reproducible mode", domain.has_clouds());
}

RowRoute canonical_route(const PointDomain& domain, int64_t block_rows, bool weightless_last) {
    Communicator& comm = domain.context().comm();
    const std::vector<int64_t> positions =
        weightless_last ? positions_by_weight(domain) : canonical_positions(domain);
    std::vector<int64_t> begins;
    comm.agree([&] { begins = block_begins(domain.n_global(), block_rows, comm.size()); });
    return RowRoute(comm, positions, begins);
}

}  // namespace surrogate::impl
