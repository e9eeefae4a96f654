// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/split_survey.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/ranks/thread_shares.hpp"

namespace surrogate::impl {

namespace {

// On bit patterns: a host may trap comparisons of NaN, and conversions that overflow.
uint64_t exponent_of(uint64_t bits) {
    return bits >> 52 & 0x7ff;
}

/// Not finite, or at least 2^1023 in magnitude.
bool is_bad(uint64_t bits) {
    return exponent_of(bits) >= 2046;
}

/// Returns whether the number is a normal number of single precision, or zero.
bool is_single(uint64_t bits) {
    constexpr uint64_t below_single = (uint64_t{1} << 29) - 1;
    const bool is_normal = exponent_of(bits) - 897 <= 1150 - 897;  // 2^-126 .. 2^127
    return (is_normal && (bits & below_single) == 0) || bits << 1 == 0;
}

struct Found {
    int64_t has_bad = 0, has_double = 0;
    int64_t high_id = std::numeric_limits<int64_t>::min();
    int64_t not_low_id = std::numeric_limits<int64_t>::min();  // ~id of the lowest
};

Found find(std::span<const double> x, std::span<const int64_t> ids) {
    Found found;
    bool has_bad = false, has_double = false;
    for (const double value : x) {
        const auto bits = std::bit_cast<uint64_t>(value);
        has_bad |= is_bad(bits);
        has_double |= !is_single(bits);
    }
    found.has_bad = has_bad;
    found.has_double = has_double;
    for (const int64_t id : ids) {
        found.high_id = std::max(found.high_id, id);
        found.not_low_id = std::max(found.not_low_id, ~id);
    }
    return found;
}

Found find_on_threads(const kernels::Queue& queue, const SplitPoints& points) {
    std::vector<Found> shares(static_cast<size_t>(queue.n_thread()));
    const auto part = []<class T>(std::span<T> values, Range range) {
        return values.subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size()));
    };
    for_thread_shares(queue, std::ssize(points.ids), [&](Range rows, size_t share) {
        const Range x{points.n_axis * rows.begin, points.n_axis * rows.end};
        shares[share] = find(part(points.x, x), part(points.ids, rows));
    });
    Found found;
    for (const Found& share : shares) {
        found.has_bad = std::max(found.has_bad, share.has_bad);
        found.has_double = std::max(found.has_double, share.has_double);
        found.high_id = std::max(found.high_id, share.high_id);
        found.not_low_id = std::max(found.not_low_id, share.not_low_id);
    }
    return found;
}

/// The first bad coordinate of point i, or n_axis.
int bad_axis(const SplitPoints& points, size_t i) {
    for (int axis = 0; axis < points.n_axis; ++axis) {
        const double value = points.x[static_cast<size_t>(axis) * points.ids.size() + i];
        if (is_bad(std::bit_cast<uint64_t>(value))) return axis;
    }
    return points.n_axis;
}

[[noreturn]] void refuse_coordinates(Communicator& comm, const SplitPoints& points) {
    int64_t n_bad = 0;
    size_t first = 0;
    for (size_t i = points.ids.size(); i-- > 0;) {
        if (bad_axis(points, i) == points.n_axis) continue;
        ++n_bad;
        first = i;
    }
    const bool is_own = n_bad > 0;
    comm.all_reduce_sum(std::span(&n_bad, 1));
    comm.agree([&] {
        if (!is_own) return;
        const int axis = bad_axis(points, first);
        const double value = points.x[static_cast<size_t>(axis) * points.ids.size() + first];
        throw Error(Status::invalid_argument,
                    "coordinate " + std::to_string(axis) + " of the point with global id " +
                        std::to_string(points.ids[first]) + " is " + number_text(value) +
                        "; a tree needs finite coordinates below 8.9e307 in magnitude, and " +
                        std::to_string(n_bad) + (n_bad == 1 ? " point has" : " points have") +
                        " others");
    });
    throw Error(Status::internal, "a rank found invalid coordinates, but no rank reported them");
}

}  // namespace

SplitSurvey surveyed(Communicator& comm, const kernels::Queue& queue, const SplitPoints& points) {
    Found found;
    comm.agree([&] {
        if (points.n_axis < 1 || points.n_axis > 3 ||
            std::ssize(points.x) != points.n_axis * std::ssize(points.ids))
            throw Error(Status::internal,
                        "points of a tree: " + std::to_string(points.x.size()) +
                            " coordinates of " + std::to_string(points.ids.size()) + " points on " +
                            std::to_string(points.n_axis) +
                            " axes, expected 1 to 3 axes and one coordinate per point and axis");
        found = find_on_threads(queue, points);
    });
    int64_t facts[] = {found.has_bad, found.has_double, found.high_id, found.not_low_id};
    comm.all_reduce_max(std::span(facts));
    if (facts[0]) refuse_coordinates(comm, points);
    SplitSurvey survey{.n_point = std::ssize(points.ids)};
    comm.all_reduce_sum(std::span(&survey.n_point, 1));
    survey.is_single = !facts[1] && survey.n_point <= std::numeric_limits<uint32_t>::max();
    if (survey.n_point == 0) return survey;
    survey.first_id = ~facts[3];
    survey.n_id_bit =
        std::bit_width(static_cast<uint64_t>(facts[2]) - static_cast<uint64_t>(survey.first_id));
    return survey;
}

}  // namespace surrogate::impl
