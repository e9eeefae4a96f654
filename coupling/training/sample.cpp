// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/sample.hpp"

#include <algorithm>
#include <numeric>
#include <surrogate/surrogate.hpp>

namespace surrogate::tool {

namespace {

using dataset::Box;
using dataset::PointForm;
using dataset::ReadFile;
using dataset::State;

int64_t product(const std::vector<int64_t>& extents, size_t from) {
    int64_t n = 1;
    for (size_t i = from; i < extents.size(); ++i) n *= extents[i];
    return n;
}

/// Returns the whole rows of the first axis that contain a range.
Box rows_of(const std::vector<int64_t>& extents, const PointRange& range) {
    const int64_t inner = product(extents, 1);
    Box box{std::vector<int64_t>(extents.size(), 0), extents};
    box.first[0] = range.first / inner;
    box.n[0] = range.n == 0 ? 0 : (range.first + range.n - 1) / inner - box.first[0] + 1;
    return box;
}

/// Extracts the numbers of the range from the numbers of its rows.
std::vector<double> cut(const std::vector<double>& values, const Box& box,
                        const PointRange& range) {
    if (range.n == 0) return {};
    const auto begin = values.begin() + (range.first - box.first[0] * product(box.n, 1));
    return {begin, begin + range.n};
}

/// Maps point (i, j) of the changed sample to its index in the stored sample.
struct Turn {
    Change change;
    int64_t n_x, n_y;
    std::pair<int64_t, int64_t> operator()(int64_t i, int64_t j) const {
        if ((change.square & 1) != 0) std::swap(i, j);
        if ((change.square & 2) != 0) i = n_x - 1 - i;
        if ((change.square & 4) != 0) j = n_y - 1 - j;
        return {i, (j + change.shift) % n_y};
    }
};

/// Returns the box of stored points from which rows of the changed sample are read.
Box source_of(const Box& rows, const Turn& turn) {
    const int64_t last = rows.first[0] + rows.n[0] - 1;
    const auto a = turn(rows.first[0], 0), b = turn(last, turn.n_y - 1);
    if (turn.change.shift != 0) return rows;
    return {{std::min(a.first, b.first), std::min(a.second, b.second)},
            {std::abs(a.first - b.first) + 1, std::abs(a.second - b.second) + 1}};
}

std::vector<double> turned(const std::vector<double>& values, const Box& source, const Turn& turn,
                           const PointRange& range) {
    std::vector<double> result(static_cast<size_t>(range.n));
    for (int64_t k = 0; k < range.n; ++k) {
        const auto [i, j] = turn((range.first + k) / turn.n_y, (range.first + k) % turn.n_y);
        const int64_t at = (i - source.first[0]) * source.n[1] + (j - source.first[1]);
        result[static_cast<size_t>(k)] = values[static_cast<size_t>(at)];
    }
    return result;
}

std::vector<double> room_for(const Box& box) {
    return std::vector<double>(static_cast<size_t>(box.count()));
}

}  // namespace

PointRange share_of(const ReadFile& file, int64_t sample, int rank, int size) {
    const auto extents = file.extents(sample);
    const bool is_sphere = file.form().points == PointForm::sphere;
    const int64_t unit = is_sphere ? product(extents, 1) : 1;
    const int64_t n = product(extents, 0) / unit;
    const int64_t more = n % size, least = n / size;
    const int64_t first = rank * least + std::min<int64_t>(rank, more);
    return {first * unit, (least + (rank < more ? 1 : 0)) * unit};
}

uint64_t mixed(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t x = 0;
    for (const uint64_t word : {a, b, c}) {  // splitmix64 of Steele, Lea, Flood; one round per word
        x += word + 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        x ^= x >> 31;
    }
    return x;
}

std::vector<int64_t> permutation(int64_t n, int64_t seed, int64_t epoch) {
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t{0});
    const uint64_t key = mixed(static_cast<uint64_t>(seed), static_cast<uint64_t>(epoch), 1);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[mixed(key, i, 2) % i]);
    return order;
}

Change random_change(Symmetry symmetries, int64_t n_drawn, const std::vector<int64_t>& extents,
                     int64_t seed, int64_t epoch, int64_t index) {
    const uint64_t key = mixed(static_cast<uint64_t>(seed), static_cast<uint64_t>(epoch), 3);
    const uint64_t chance = mixed(key, static_cast<uint64_t>(index), 4);
    Change change;
    if (symmetries == Symmetry::square) change.square = static_cast<int>(chance % 8);
    if (symmetries == Symmetry::longitude)
        change.shift = static_cast<int64_t>(chance % static_cast<uint64_t>(extents[1]));
    change.n_drawn = n_drawn;
    if (n_drawn > 0) change.draw_key = mixed(key, static_cast<uint64_t>(index), 5);
    return change;
}

std::vector<int64_t> drawn_points(const Change& change, int64_t n_point, const PointRange& range) {
    // The points with the n_drawn smallest random numbers of the whole sample; equal numbers, which
    // are unlikely, are ordered by point.
    using Ticket = std::pair<uint64_t, int64_t>;
    const auto ticket = [&](int64_t point) {
        return Ticket(mixed(change.draw_key, static_cast<uint64_t>(point), 6), point);
    };
    std::vector<Ticket> tickets;
    tickets.reserve(static_cast<size_t>(n_point));
    for (int64_t point = 0; point < n_point; ++point) tickets.push_back(ticket(point));
    const auto last = tickets.begin() + (change.n_drawn - 1);
    std::nth_element(tickets.begin(), last, tickets.end());
    std::vector<int64_t> points;
    for (int64_t i = 0; i < range.n; ++i)
        if (ticket(range.first + i) <= *last) points.push_back(i);
    return points;
}

namespace {

/// Reads a range of points of the changed sample; `read` reads a box of the stored one.
template <class Read>
std::vector<double> read_changed(const std::vector<int64_t>& extents, const Change& change,
                                 const PointRange& range, const Read& read) {
    const Box rows = rows_of(extents, range);
    if (range.n > 0 && (change.square != 0 || change.shift != 0)) {
        const Turn turn{change, extents[0], extents[1]};
        const Box source = source_of(rows, turn);
        auto values = room_for(source);
        read(source, values);
        return turned(values, source, turn, range);
    }
    if (extents.size() == 1) {
        std::vector<double> values(static_cast<size_t>(range.n));
        read({{range.first}, {range.n}}, values);
        return values;
    }
    auto values = room_for(rows);
    read(rows, values);
    return cut(values, rows, range);
}

/// Reads the number of a sample, or the numbers of its clouds.
template <class Read>
std::vector<double> read_numbers(const ReadFile& file, const std::string& field, const State& state,
                                 const Read& read) {
    const Box box = file.box_of(field, state);
    auto values = room_for(box);
    read(box, values);
    return values;
}

}  // namespace

std::vector<double> read_range(const ReadFile& file, const std::string& field, const State& state,
                               const Change& change, const PointRange& range) {
    const auto read = [&](const Box& box, std::vector<double>& values) {
        file.read(field, state, box, values);
    };
    if (file.is_per_sample(field)) return read_numbers(file, field, state, read);
    return read_changed(file.extents(state.sample), change, range, read);
}

std::vector<int64_t> read_labels(const ReadFile& file, const std::string& field, const State& state,
                                 const Change& change, const PointRange& range) {
    const auto read = [&](const Box& box, std::vector<double>& values) {
        file.read_integers(field, state, box, values);
    };
    const std::vector<double> values =
        file.is_per_sample(field) ? read_numbers(file, field, state, read)
                                  : read_changed(file.extents(state.sample), change, range, read);
    return {values.begin(), values.end()};
}

std::vector<int64_t> read_clouds(const ReadFile& file, const State& state, const Change& change,
                                 const PointRange& range) {
    if (!file.form().has_clouds) return std::vector<int64_t>(static_cast<size_t>(range.n));
    const auto read = [&](const Box& box, std::vector<double>& values) {
        file.read_clouds(state, box, values);
    };
    const auto values = read_changed(file.extents(state.sample), change, range, read);
    return {values.begin(), values.end()};
}

std::vector<double> read_coordinate(const ReadFile& file, int32_t axis, const State& state,
                                    const PointRange& range) {
    const auto extents = file.extents(state.sample);
    Box box = rows_of(extents, range);
    if (extents.size() == 1) box = {{range.first}, {range.n}};
    auto values = room_for(box);
    file.read_coordinate(axis, state, box, values);
    return extents.size() == 1 ? values : cut(values, box, range);
}

std::vector<double> read_points(const ReadFile& file, const State& state, const PointRange& range) {
    const size_t n_axis = file.form().coordinates.size();
    std::vector<double> points(static_cast<size_t>(range.n) * n_axis);
    for (size_t axis = 0; axis < n_axis; ++axis) {
        const auto line = read_coordinate(file, static_cast<int32_t>(axis), state, range);
        for (size_t i = 0; i < line.size(); ++i) points[i * n_axis + axis] = line[i];
    }
    return points;
}

std::vector<double> read_weights(const ReadFile& file, const State& state, const Change& change,
                                 const PointRange& range) {
    const auto& form = file.form();
    const auto extents = file.extents(state.sample);
    if (form.has_weight)
        return read_changed(extents, change, range,
                            [&](const Box& box, std::vector<double>& values) {
                                file.read_weight(state, box, values);
                            });
    if (form.points != PointForm::sphere) return {};
    std::vector<double> rows(static_cast<size_t>(extents[0]));
    surrogate::check(surrogate_sphere_nodes(form.grid.c_str(), extents[0], extents[1], nullptr,
                                            nullptr, rows.data()));
    std::vector<double> areas(static_cast<size_t>(range.n));
    for (int64_t k = 0; k < range.n; ++k)
        areas[static_cast<size_t>(k)] = rows[static_cast<size_t>((range.first + k) / extents[1])];
    return areas;
}

}  // namespace surrogate::tool
