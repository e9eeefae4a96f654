// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/lattice_loss.hpp"

#include <algorithm>
#include <cmath>

#include "libsurrogate/src/domain/canonical_order.hpp"

namespace surrogate::impl {

namespace {

/// First point of each rank's lines.
std::vector<int64_t> point_begins(Communicator& comm, int64_t n_x, int64_t n_y) {
    std::vector<int64_t> begins;
    comm.agree([&] {
        begins = block_begins(n_x, 1, comm.size());
        for (int64_t& begin : begins) begin *= n_y;
    });
    return begins;
}

RowRoute route_of(const PointDomain& domain, std::span<const int64_t> begins) {
    const std::vector<int64_t> positions = canonical_positions(domain, "loss=gradient_l2");
    return RowRoute(domain.context().comm(), positions, begins);
}

}  // namespace

LatticeLoss::LatticeLoss(const PointDomain& domain, int64_t n_x, int64_t n_y, int64_t n_output)
    : comm_(domain.context().comm()),
      n_x_(n_x),
      n_y_(n_y),
      n_output_(n_output),
      n_point_(domain.n_local()),
      route_(route_of(domain, point_begins(comm_, n_x, n_y))),
      lines_{route_.target_rows().begin / n_y, route_.target_rows().end / n_y} {
    comm_.agree([&] { reserve(); });
    connect(point_begins(comm_, n_x, n_y));
}

void LatticeLoss::reserve() {
    const int64_t row = 2 * n_output_;
    origin_ = kernels::Buffer<double>(n_point_ * row);
    scratch_ = kernels::Buffer<double>(route_.scratch_rows() * row);
    target_ = kernels::Buffer<double>(route_.target_rows().size() * row);
    fields_ = kernels::Buffer<double>(row * n_line() * n_y_);
    route_.reserve(comm_, row * 8);
}

/// Sets up the exchange of the lines adjacent to the lines of this rank, which other ranks send.
void LatticeLoss::connect(std::span<const int64_t> begins) {
    std::vector<NeighborExchange::Want> wants;
    comm_.agree([&] {
        for (int64_t i = lines_.begin - halo; i < lines_.end + halo; ++i) {
            const bool is_own = i >= lines_.begin && i < lines_.end;
            if (is_own || i < 0 || i >= n_x_ || lines_.size() == 0) continue;
            const auto after = std::ranges::upper_bound(begins, i * n_y_);
            const int owner = static_cast<int>(after - begins.begin()) - 1;
            wants.push_back({owner, {i, 0, n_y_}});
        }
        std::ranges::stable_sort(wants, {}, &NeighborExchange::Want::rank);
    });
    exchange_.connect(comm_, std::move(wants), 2 * n_output_ * 8);
}

/// Errors and targets of the own lines, from rows of the route.
void LatticeLoss::unpack() {
    for (int64_t i = lines_.begin; i < lines_.end; ++i) {
        for (int64_t j = 0; j < n_y_; ++j) {
            const double* row = target_.data() + ((i - lines_.begin) * n_y_ + j) * 2 * n_output_;
            for (int64_t o = 0; o < n_output_; ++o) {
                const double prediction = is_inside(i, j) ? row[o] : 0, t = row[n_output_ + o];
                line(0, o, i)[j] = prediction - t;
                line(1, o, i)[j] = t;
            }
        }
    }
}

void LatticeLoss::bring(const kernels::Queue& queue, const Sample& sample, bool alive) {
    std::ranges::fill(origin_, 0.0);
    for (int64_t o = 0; alive && o < n_output_; ++o) {
        for (int64_t i = 0; i < n_point_; ++i) {
            origin_[i * 2 * n_output_ + o] = sample.prediction[o * n_point_ + i];
            origin_[i * 2 * n_output_ + n_output_ + o] = sample.target[o * n_point_ + i];
        }
    }
    route_.to_target(comm_, origin_.data(), scratch_.data(), target_.data(), 2 * n_output_ * 8);
    unpack();
    exchange_.begin<double>(comm_, queue, 2 * n_output_, [&](const Segment& segment, double* at) {
        for (int64_t field = 0; field < 2; ++field) {
            for (int64_t o = 0; o < n_output_; ++o, at += segment.count)
                std::copy_n(line(field, o, segment.row), segment.count, at);
        }
    });
    exchange_.finish<double>(
        comm_, queue, 2 * n_output_, [&](const Segment& segment, const double* from, int) {
            for (int64_t field = 0; field < 2; ++field) {
                for (int64_t o = 0; o < n_output_; ++o, from += segment.count)
                    std::copy_n(from, segment.count, line(field, o, segment.row));
            }
        });
}

namespace {

/// f(j + 1) - f(j - 1) on a line that is zero outside.
double across(const double* line, int64_t j, int64_t n) {
    return (j + 1 < n ? line[j + 1] : 0) - (j > 0 ? line[j - 1] : 0);
}

}  // namespace

/// Calls use(sum, square) for all points of the own lines.
template <class Use>
void LatticeLoss::for_each_square(const Use& use) const {
    for (int64_t o = 0; o < n_output_; ++o) {
        for (int64_t i = lines_.begin; i < lines_.end; ++i) {
            for (int64_t field = 0; field < 2; ++field) {
                const double *before = line(field, o, i - 1), *here = line(field, o, i),
                             *after = line(field, o, i + 1);
                for (int64_t j = 0; j < n_y_; ++j) {
                    const double x = after[j] - before[j], y = across(here, j, n_y_);
                    use(static_cast<size_t>(field), x * x);
                    use(static_cast<size_t>(2 + field), y * y);
                }
            }
        }
    }
}

bool LatticeLoss::find_bounds(double* bounds) const {
    bool is_finite = true;
    for_each_square([&](size_t s, double square) {
        is_finite = is_finite && std::isfinite(square);
        bounds[s] = std::isgreater(square, bounds[s]) ? square : bounds[s];
    });
    return is_finite;
}

void LatticeLoss::add_up(std::span<const ExactGrid> grids, int64_t* limbs, int64_t stride) const {
    for_each_square([&](size_t s, double square) { grids[s].add(square, limbs + s, stride); });
}

/// Both differences are antisymmetric, so that their transposes are they with the other sign.
void LatticeLoss::add_gradient(double x, double y, double* to) {
    for (int64_t o = 0; o < n_output_; ++o) {
        for (int64_t i = lines_.begin; i < lines_.end; ++i) {
            const double *here = line(0, o, i), *far = line(0, o, i + 2), *back = line(0, o, i - 2);
            for (int64_t j = 0; j < n_y_; ++j) {
                double sum = 0;
                if (is_inside(i, j)) {
                    // Differences to points outside of the grid are zero.
                    const double dx_after = i + 1 < n_x_ ? far[j] - here[j] : 0;
                    const double dx_before = i > 0 ? here[j] - back[j] : 0;
                    const double dy_after = j + 1 < n_y_ ? across(here, j + 1, n_y_) : 0;
                    const double dy_before = j > 0 ? across(here, j - 1, n_y_) : 0;
                    sum = x * (dx_before - dx_after) + y * (dy_before - dy_after);
                }
                target_[((i - lines_.begin) * n_y_ + j) * n_output_ + o] = sum;
            }
        }
    }
    route_.to_origin(comm_, target_.data(), scratch_.data(), origin_.data(), n_output_ * 8);
    for (int64_t o = 0; o < n_output_; ++o) {
        for (int64_t i = 0; i < n_point_; ++i) to[o * n_point_ + i] += origin_[i * n_output_ + o];
    }
}

int64_t LatticeLoss::bytes() const {
    return origin_.bytes() + scratch_.bytes() + target_.bytes() + fields_.bytes() + route_.bytes() +
           exchange_.bytes();
}

}  // namespace surrogate::impl
