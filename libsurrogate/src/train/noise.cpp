// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/noise.hpp"

#include <algorithm>

#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/domain/sphere_domain.hpp"

namespace surrogate::impl {

namespace {

/// First random stream for the inputs of a plan; no other use of the seed draws from these streams.
constexpr uint64_t first_stream = uint64_t{1} << 63;

}  // namespace

void Noise::follow(const Plan& plan) {
    const auto* const points = dynamic_cast<const PointDomain*>(plan.input().get());
    if (!points || revision_ == points->revision()) return;
    position_ = canonical_positions(*points, "training setting 'noise'", points->has_clouds());
    revision_ = points->revision();
}

std::span<const Column> Noise::on(const Plan& plan, std::span<const Column> inputs,
                                  int64_t sample) {
    const int64_t n_input = std::ssize(inputs);
    const int64_t n_most = std::max(plan.input()->n_local(), plan.output()->n_local());
    if (numbers_.size() < n_input * n_most) numbers_ = kernels::Buffer<double>(n_input * n_most);
    columns_.assign(inputs.begin(), inputs.end());
    for (size_t c = 0; c < columns_.size(); ++c) {
        Column& column = columns_[c];
        const bool is_at_output = plan.input_place(c) == PortPlace::output_points;
        const bool is_field = (is_at_output || plan.input_place(c) == PortPlace::input_points) &&
                              plan.input_kind(c) == NumberKind::real && !column.is_constant;
        if (!is_field) continue;
        const Domain& domain = is_at_output ? *plan.output() : *plan.input();
        const auto* const sphere = dynamic_cast<const SphereDomain*>(&domain);
        const int64_t n = domain.n_local();
        Column plain = column;
        plain.mean = 0;
        plain.std = 1;
        double* const to = numbers_.data() + static_cast<int64_t>(c) * n_most;
        Outside outside;  // not read
        const BadValue bad = gather(std::span(&plain, 1), 0, n, to, 1, n, &outside);
        if (bad.column >= 0) to[bad.point] = bad.value;  // for the run to find
        const Random random(seed_, first_stream + static_cast<uint64_t>(sample * n_input) + c);
        for (int64_t i = 0; i < n; ++i)
            to[i] +=
                size_ * column.std *
                random.normal(sphere ? sphere->position(i) : position_[static_cast<size_t>(i)]);
        column.data = to;
        column.stride = 1;
        column.is_double = true;
        column.lattice = {};
    }
    return columns_;
}

}  // namespace surrogate::impl
