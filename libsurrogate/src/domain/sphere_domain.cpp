// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/sphere_domain.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl {

namespace {

constexpr double degrees = 180 / std::numbers::pi;

/// Nodes agree if they are this close, counted in steps of the grid: coordinates in single
/// precision pass on every grid that fits in memory, a half step or another kind of grid never
/// does.
constexpr double node_tolerance = 2e-3;

std::string number(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.7g", value);
    return text;
}

/// "0, 2.8125, 5.625, .., 357.1875"
std::string list_text(const std::vector<double>& values) {
    std::string text;
    for (size_t i = 0; i < values.size(); ++i) {
        if (i == 4 && values.size() > 6) {
            text += ", ..";
            i = values.size() - 2;
            continue;
        }
        text += (i == 0 ? "" : ", ") + number(values[i]);
    }
    return values.empty() ? "none" : text;
}

double positive_degrees(double angle) {
    const double rest = std::fmod(angle, 360.0);
    return rest < 0 ? rest + 360 : rest;
}

/// Distance of two angles on the circle, in degrees.
double circle_distance(double a, double b) {
    const double d = positive_degrees(a - b);
    return std::min(d, 360 - d);
}

}  // namespace

/// A rank's description of its block and of the whole grid; plain bytes.
struct SphereDomain::Facts {
    int64_t kind = 0, n_lat = 0, n_lon = 0;
    GridBlock block;
    int64_t direction = 0;  ///< 1 north first, -1 south first, 0 either
    int64_t has_longitude = 0;
    double first_longitude = 0;
};

SphereDomain::SphereDomain(std::shared_ptr<Context> context, const surrogate_sphere* sphere)
    : Domain(std::move(context)) {
    Communicator& comm = Domain::context().comm();
    Facts own;
    std::vector<Facts> all;
    comm.agree([&] {
        own = read(sphere);
        all.resize(static_cast<size_t>(comm.size()));
        blocks_.resize(static_cast<size_t>(comm.size()));
    });
    comm.all_gather(&own, all.data(), sizeof own);
    comm.agree([&] {
        agree_on(all);
        require_tiling();
    });
    n_local_ = this->own().size();
    n_global_ = grid_.n_lat * grid_.n_lon;
}

SphereDomain::Facts SphereDomain::read(const surrogate_sphere* sphere) {
    if (!sphere) throw Error(Status::invalid_argument, "argument 'sphere' is NULL");
    if (!sphere->grid)
        throw Error(Status::invalid_argument, "sphere: the name of the grid is NULL");
    const int64_t n_lat = sphere->n_lat, n_lon = sphere->n_lon;
    constexpr int64_t largest = int64_t{1} << 24;
    if (n_lat < 2 || n_lon < 1 || n_lat > largest || n_lon > largest) {
        throw Error(Status::shape, "sphere: a grid of " + std::to_string(n_lat) + " x " +
                                       std::to_string(n_lon) +
                                       " points; 2 .. 2^24 rows and 1 .. 2^24 columns are "
                                       "possible");
    }
    grid_ = {kernels::parse_grid_kind(sphere->grid), n_lat, n_lon};
    const GridBlock block{sphere->first_lat, sphere->n_lat_local, sphere->first_lon,
                          sphere->n_lon_local};
    const auto fits = [](int64_t first, int64_t n, int64_t whole) {
        return n >= 0 && first >= 0 && first <= whole && n <= whole - first;
    };
    if (!fits(block.first_row, block.n_row, n_lat) ||
        !fits(block.first_column, block.n_column, n_lon)) {
        throw Error(Status::shape, "sphere: rows " + std::to_string(block.first_row) + " + " +
                                       std::to_string(block.n_row) + " and columns " +
                                       std::to_string(block.first_column) + " + " +
                                       std::to_string(block.n_column) + " are no block of " +
                                       std::to_string(n_lat) + " x " + std::to_string(n_lon));
    }
    blocks_.assign(static_cast<size_t>(context().comm().size()), block);
    set_memory(*sphere);
    for (const double theta : kernels::latitudes(grid_.kind, n_lat).theta)
        latitude_.push_back(90 - theta * degrees);

    Facts facts{static_cast<int64_t>(grid_.kind), n_lat, n_lon, block};
    if (block.size() > 0) {
        facts.direction = direction_of(*sphere);
        facts.has_longitude = 1;
        facts.first_longitude = first_longitude_of(*sphere);
    }
    return facts;
}

void SphereDomain::set_memory(const surrogate_sphere& sphere) {
    const bool is_default = sphere.lat_stride == 0 && sphere.lon_stride == 0;
    lat_step_ = is_default ? sphere.n_lon_local : sphere.lat_stride;
    lon_step_ = is_default ? 1 : sphere.lon_stride;
    const int64_t n_row = sphere.n_lat_local, n_column = sphere.n_lon_local;
    if (n_row == 0 || n_column == 0) return;
    // With at most 2^24 rows and columns, distances in elements then fit int64.
    constexpr int64_t largest = int64_t{1} << 38;
    for (const int64_t step : {lat_step_, lon_step_}) {
        if (step >= -largest && step <= largest) continue;
        throw Error(Status::shape, "sphere: steps are " + std::to_string(lat_step_) + " and " +
                                       std::to_string(lon_step_) +
                                       ", expected at most 2^38 elements each");
    }
    const int64_t lat = std::abs(lat_step_), lon = std::abs(lon_step_);
    // Points must not share memory: one axis steps over the whole length of the other.
    const bool fits = lat > 0 && lon > 0 && (lat >= lon * n_column || lon >= lat * n_row);
    const bool is_line = (n_row == 1 && lon > 0) || (n_column == 1 && lat > 0);
    if (!fits && !is_line) {
        throw Error(Status::shape, "sphere: steps " + std::to_string(lat_step_) + " and " +
                                       std::to_string(lon_step_) + " let points of a block of " +
                                       std::to_string(n_row) + " x " + std::to_string(n_column) +
                                       " share memory");
    }
}

int SphereDomain::direction_of(const surrogate_sphere& sphere) const {
    if (!sphere.latitude) {
        if (sphere.south_to_north == 0 || sphere.south_to_north == 1)
            return sphere.south_to_north ? -1 : 1;
        throw Error(Status::invalid_argument, "sphere: south_to_north is " +
                                                  std::to_string(sphere.south_to_north) +
                                                  ", expected 0 or 1");
    }
    const std::vector<double> given(sphere.latitude, sphere.latitude + sphere.n_lat_local);
    bool fits_north = true, fits_south = true;
    for (size_t i = 0; i < given.size(); ++i) {
        if (!std::isfinite(given[i])) {
            throw Error(Status::not_finite,
                        "sphere: latitude " + std::to_string(i) + " is " + number(given[i]));
        }
        const auto node = [&](int64_t row) { return latitude_[static_cast<size_t>(row)]; };
        const auto near = [&](int64_t row) {
            const double gap = std::min(row > 0 ? node(row - 1) - node(row) : 180,
                                        row + 1 < grid_.n_lat ? node(row) - node(row + 1) : 180);
            return std::abs(node(row) - given[i]) <= node_tolerance * gap;
        };
        const int64_t row = sphere.first_lat + static_cast<int64_t>(i);
        fits_north = fits_north && near(row);
        fits_south = fits_south && near(grid_.n_lat - 1 - row);
    }
    if (fits_north && fits_south) return 0;
    if (fits_north || fits_south) return fits_north ? 1 : -1;
    throw Error(Status::invalid_argument,
                "sphere: rows " + std::to_string(sphere.first_lat) + " .. lie at latitudes " +
                    list_text(given) + "; the nodes of a " + name(grid_.kind) + " grid of " +
                    std::to_string(grid_.n_lat) + " rows are " + list_text(latitude_));
}

double SphereDomain::first_longitude_of(const surrogate_sphere& sphere) const {
    const double step = 360.0 / static_cast<double>(grid_.n_lon);
    if (!sphere.longitude) {
        if (!std::isfinite(sphere.first_longitude)) {
            throw Error(Status::not_finite,
                        "sphere: first_longitude is " + number(sphere.first_longitude));
        }
        return positive_degrees(sphere.first_longitude);
    }
    const std::vector<double> given(sphere.longitude, sphere.longitude + sphere.n_lon_local);
    for (size_t j = 0; j < given.size(); ++j) {
        if (!std::isfinite(given[j])) {
            throw Error(Status::not_finite,
                        "sphere: longitude " + std::to_string(j) + " is " + number(given[j]));
        }
        const double expected = given[0] + static_cast<double>(j) * step;
        if (circle_distance(given[j], expected) <= node_tolerance * step) continue;
        throw Error(Status::invalid_argument, "sphere: longitudes are " + list_text(given) +
                                                  ", expected equal steps upward of 360 / " +
                                                  std::to_string(grid_.n_lon) + " = " +
                                                  number(step) + " degrees");
    }
    return positive_degrees(given[0] - static_cast<double>(sphere.first_lon) * step);
}

void SphereDomain::agree_on(const std::vector<Facts>& all) {
    int64_t direction = 0;
    int direction_rank = 0, longitude_rank = -1;
    const double step = 360.0 / static_cast<double>(grid_.n_lon);
    for (int r = 0; r < static_cast<int>(all.size()); ++r) {
        const Facts& facts = all[static_cast<size_t>(r)];
        blocks_[static_cast<size_t>(r)] = facts.block;
        if (facts.kind != all[0].kind || facts.n_lat != all[0].n_lat ||
            facts.n_lon != all[0].n_lon) {
            const auto text = [](const Facts& f) {
                return std::string(name(static_cast<kernels::GridKind>(f.kind))) + " " +
                       std::to_string(f.n_lat) + " x " + std::to_string(f.n_lon);
            };
            throw Error(Status::invalid_argument, "sphere: ranks 0 and " + std::to_string(r) +
                                                      " name different grids: " + text(all[0]) +
                                                      " and " + text(facts));
        }
        if (facts.direction != 0 && direction == 0) {
            direction = facts.direction;
            direction_rank = r;
        }
        if (facts.direction * direction < 0) {
            throw Error(Status::invalid_argument,
                        "sphere: rows go from north to south on one of the ranks " +
                            std::to_string(direction_rank) + " and " + std::to_string(r) +
                            ", and from south to north on the other");
        }
        if (!facts.has_longitude) continue;
        if (longitude_rank < 0) {
            longitude_rank = r;
            first_longitude_ = facts.first_longitude;
        }
        if (circle_distance(facts.first_longitude, first_longitude_) > 2 * node_tolerance * step) {
            throw Error(Status::invalid_argument,
                        "sphere: column 0 lies at longitude " + number(first_longitude_) +
                            " on rank " + std::to_string(longitude_rank) + " and at " +
                            number(facts.first_longitude) + " on rank " + std::to_string(r));
        }
    }
    is_south_first_ = direction < 0;
}

void SphereDomain::require_tiling() const {
    int64_t n_point = 0;
    for (size_t a = 0; a < blocks_.size(); ++a) {
        n_point += blocks_[a].size();
        for (size_t b = a + 1; b < blocks_.size(); ++b) {
            const auto overlaps = [](int64_t i, int64_t n, int64_t j, int64_t m) {
                return i < j + m && j < i + n;
            };
            const GridBlock &p = blocks_[a], &q = blocks_[b];
            if (p.size() == 0 || q.size() == 0) continue;
            if (overlaps(p.first_row, p.n_row, q.first_row, q.n_row) &&
                overlaps(p.first_column, p.n_column, q.first_column, q.n_column)) {
                throw Error(Status::invalid_argument, "sphere: the blocks of ranks " +
                                                          std::to_string(a) + " and " +
                                                          std::to_string(b) + " overlap");
            }
        }
    }
    if (n_point == grid_.n_lat * grid_.n_lon) return;
    const int64_t row = first_row_with_holes();
    std::string owners;
    for (size_t a = 0; a < blocks_.size(); ++a) {
        const GridBlock& block = blocks_[a];
        if (block.n_column == 0 || row < block.first_row || row >= block.first_row + block.n_row)
            continue;
        owners += (owners.empty() ? "rank " : ", rank ") + std::to_string(a) + " with columns " +
                  std::to_string(block.first_column) + " to " +
                  std::to_string(block.first_column + block.n_column - 1);
    }
    throw Error(Status::invalid_argument,
                "sphere: the blocks of all ranks have " + std::to_string(n_point) +
                    " points, the grid " + std::to_string(grid_.n_lat * grid_.n_lon) +
                    "; every point belongs to one rank, but row " + std::to_string(row) +
                    (owners.empty() ? " to none" : " only to " + owners));
}

int64_t SphereDomain::first_row_with_holes() const {
    int64_t row = 0;
    const auto n_owned = [&] {
        int64_t n = 0;
        for (const GridBlock& block : blocks_) {
            const bool has_row = row >= block.first_row && row < block.first_row + block.n_row;
            n += has_row ? block.n_column : 0;
        }
        return n;
    };
    while (row < grid_.n_lat && n_owned() == grid_.n_lon) ++row;
    return row;
}

int64_t SphereDomain::shift() const {
    const double step = 360.0 / static_cast<double>(grid_.n_lon);
    return std::llround(first_longitude_ / step) % grid_.n_lon;
}

void SphereDomain::require_whole_shift() const {
    const double step = 360.0 / static_cast<double>(grid_.n_lon);
    const double nearest = static_cast<double>(shift()) * step;
    if (circle_distance(first_longitude_, nearest) <= 2 * node_tolerance * step) return;
    std::vector<double> ours, theirs;
    for (int64_t j = 0; j < grid_.n_lon; ++j) {
        ours.push_back(static_cast<double>(j) * step);
        theirs.push_back(positive_degrees(first_longitude_ + static_cast<double>(j) * step));
    }
    throw Error(Status::invalid_argument,
                "the domain's columns lie at longitudes " + list_text(theirs) +
                    ", the model's at " + list_text(ours) +
                    ": the offset is no whole step, so fields would have to be interpolated");
}

void SphereDomain::add_owned(int rank, const Segment& wanted, std::vector<Segment>& owned) const {
    const GridBlock& block = this->block(rank);
    const int64_t row = model_row(wanted.row) - block.first_row;  // flipping twice is the identity
    if (row < 0 || row >= block.n_row || block.n_column == 0) return;
    const int64_t first = model_column(block.first_column), n_lon = grid_.n_lon;
    const auto add = [&](int64_t begin, int64_t end) {
        begin = std::max(begin, wanted.first);
        end = std::min(end, wanted.first + wanted.count);
        if (begin < end) owned.push_back({wanted.row, begin, end - begin});
    };
    const int64_t end = first + block.n_column;
    add(first, std::min(end, n_lon));
    if (end > n_lon) add(0, end - n_lon);
}

Range SphereDomain::model_rows(int rank) const {
    const GridBlock& block = this->block(rank);
    if (block.size() == 0) return {0, 0};
    const int64_t first = block.first_row, last = first + block.n_row - 1;
    if (is_south_first_) return {model_row(last), model_row(first) + 1};
    return {first, last + 1};
}

bool SphereDomain::has_whole_rows() const {
    return std::ranges::all_of(
        blocks_, [&](const GridBlock& b) { return b.size() == 0 || b.n_column == grid_.n_lon; });
}

int64_t SphereDomain::position(int64_t local) const {
    const double step = 360.0 / static_cast<double>(grid_.n_lon);
    // Columns at or east of longitude 0 that come before the solver's column 0.
    const auto n_before = static_cast<int64_t>(first_longitude_ / step + 2 * node_tolerance);
    const int64_t row = own().first_row + local / own().n_column;
    const int64_t column = own().first_column + local % own().n_column;
    return model_row(row) * grid_.n_lon + (column + n_before) % grid_.n_lon;
}

surrogate_sphere SphereDomain::description() const {
    surrogate_sphere block{};
    block.grid = name(grid_.kind);
    block.n_lat = grid_.n_lat;
    block.n_lon = grid_.n_lon;
    block.first_lat = own().first_row;
    block.n_lat_local = own().n_row;
    block.first_lon = own().first_column;
    block.n_lon_local = own().n_column;
    block.south_to_north = is_south_first_;
    block.first_longitude = first_longitude_;
    block.lat_stride = lat_step_;
    block.lon_stride = lon_step_;
    return block;
}

Column SphereDomain::row_of(const Column& column, int64_t row) const {
    Column shifted = column;
    const int64_t offset = row * lat_step_ * column.stride * (column.is_double ? 8 : 4);
    shifted.data = static_cast<char*>(column.data) + offset;
    shifted.stride = column.stride * lon_step_;
    return shifted;
}

std::string SphereDomain::point_text(int64_t local) const {
    const int64_t row = own().first_row + local / own().n_column;
    const int64_t column = own().first_column + local % own().n_column;
    const double longitude = positive_degrees(
        first_longitude_ + 360.0 * static_cast<double>(column) / static_cast<double>(grid_.n_lon));
    return "row " + std::to_string(row) + ", column " + std::to_string(column) + " (latitude " +
           number(latitude_[static_cast<size_t>(model_row(row))]) + ", longitude " +
           number(longitude) + ")";
}

}  // namespace surrogate::impl
