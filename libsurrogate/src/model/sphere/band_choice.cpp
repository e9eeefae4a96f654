// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/band_choice.hpp"

#include <cmath>
#include <cstdio>
#include <numbers>

namespace surrogate::impl::sphere {

namespace {

// Machine parameters of the band partition: a core's sustained matrix product, and what a rank
// sends and receives a second. Only their ratio matters, and only to a factor of two.
constexpr double flops_a_second = 3e10;
constexpr double bytes_a_second = 2e9;

std::string grid_text(const Grid& grid) {
    return std::to_string(grid.n_lat) + " x " + std::to_string(grid.n_lon) + " " +
           kernels::name(grid.kind);
}

std::string ratio_text(double ratio) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", ratio);
    return text;
}

double largest_cost(const Bands& bands, const std::vector<double>& row_cost,
                    const std::vector<double>& pair_cost) {
    double total = 0;
    for (const double cost : row_cost) total += cost;
    return bands.imbalance(row_cost, pair_cost) * total / bands.n_rank();
}

/// Balanced bands. Rows are divided if that lowers the largest cost by a tenth.
Bands least_bands(const Frame& frame, const Grid& grid, const SphereDomain& domain,
                  const std::vector<double>& row_cost, const std::vector<double>& pair_cost) {
    Bands whole = balanced_bands(grid, row_cost, domain);
    if (!frame.divides_rows || pair_cost.empty()) return whole;
    Bands divided = divided_bands(grid, row_cost, pair_cost, ranks_by_latitude(domain));
    const bool is_better = divided.is_divided() &&
                           1.1 * divided.imbalance(row_cost, pair_cost) < whole.imbalance(row_cost);
    return is_better ? divided : whole;
}

/// Text about rows that are divided between ranks.
std::string division_text(const Bands& bands) {
    if (!bands.is_divided()) return "";
    return "; attention of " + std::to_string(bands.n_divided_row()) +
           " rows is divided between ranks";
}

/// Most rows that one rank gets from others.
int64_t most_moved(const Bands& from, const Bands& to) {
    int64_t most = 0;
    for (int rank = 0; rank < to.n_rank(); ++rank) {
        const Range own = to.of(rank);
        most = std::max(most, own.size() - intersection(from.of(rank), own).size());
    }
    return most;
}

/// Input points within the cutoff of a point of an output row, to about a column a row.
double neighbors(double theta, const kernels::Latitudes& in, int64_t n_lon, double radius) {
    double n = 0;
    for (const double other : in.theta) {
        if (std::abs(other - theta) > radius) continue;
        const double sines = std::sin(theta) * std::sin(other);
        const double rest = std::cos(radius) - std::cos(theta) * std::cos(other);
        const double half_width =
            sines > 1e-12 ? std::acos(std::clamp(rest / sines, -1.0, 1.0)) : std::numbers::pi;
        n += std::max(1.0, half_width / std::numbers::pi * static_cast<double>(n_lon));
    }
    return n;
}

}  // namespace

std::vector<double> row_costs(const Grid& out, const Grid& in, double theta_cutoff,
                              const RowWork& work) {
    const auto n_lon = static_cast<double>(out.n_lon);
    std::vector<double> costs(static_cast<size_t>(out.n_lat), work.point_flops * n_lon);
    if (work.pair_flops == 0) return costs;
    const auto rows = kernels::latitudes(out.kind, out.n_lat);
    const auto in_rows = kernels::latitudes(in.kind, in.n_lat);
    for (size_t row = 0; row < costs.size(); ++row) {
        costs[row] += work.pair_flops * n_lon *
                      neighbors(rows.theta[row], in_rows, in.n_lon, 1.001 * theta_cutoff);
    }
    return costs;
}

void add_costs(std::vector<double>& sum, const std::vector<double>& cost, double times) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += cost[i] * times;
}

Bands choose_bands(const Frame& frame, const SphereDomain& domain,
                   const std::vector<double>& row_cost, int64_t n_channel,
                   std::vector<std::string>& notes, const std::vector<double>& pair_cost) {
    Bands balanced = least_bands(frame, domain.grid(), domain, row_cost, pair_cost);
    const std::string what = "rows of the " + grid_text(domain.grid()) + " grid: ";
    const std::string costs =
        ratio_text(balanced.imbalance(row_cost, pair_cost)) + " of the mean cost";
    if (!domain.has_whole_rows()) {
        notes.push_back(what + "the solver's blocks become bands, the largest " + costs +
                        division_text(balanced));
        return balanced;
    }
    Bands given = bands_of(domain);
    const double gain =
        (largest_cost(given, row_cost, {}) - largest_cost(balanced, row_cost, pair_cost)) /
        (flops_a_second * frame.queue.n_thread());
    const double price =
        static_cast<double>(most_moved(given, balanced) * domain.grid().n_lon * n_channel * 4) /
        bytes_a_second;
    const std::string theirs = ratio_text(given.imbalance(row_cost)) + " of the mean cost";
    if (gain <= price) {
        notes.push_back(what + "stay where the solver has them, the largest band " + theirs);
        return given;
    }
    notes.push_back(what + "move between ranks, the largest band " + costs + " instead of " +
                    theirs + division_text(balanced));
    return balanced;
}

Bands inner_bands(const Frame& frame, const Grid& grid, const SphereDomain& domain,
                  const std::vector<double>& row_cost, std::vector<std::string>& notes,
                  const std::vector<double>& pair_cost) {
    Bands bands = least_bands(frame, grid, domain, row_cost, pair_cost);
    notes.push_back("rows of the " + grid_text(grid) +
                    " grid: distributed by cost, the largest band " +
                    ratio_text(bands.imbalance(row_cost, pair_cost)) + " of the mean cost" +
                    division_text(bands));
    return bands;
}

}  // namespace surrogate::impl::sphere
