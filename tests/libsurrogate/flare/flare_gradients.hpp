// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "tests/support/gradient_way.hpp"

namespace surrogate::test {

inline kernels::Queue simd(int n_thread = 1,
                           kernels::VectorLevel level = kernels::best_vector_level()) {
    return {kernels::Backend::simd, level, n_thread};
}

/// A model of FLARE with its gradients, on the points or tokens of this rank. Row i of the whole
/// has id 7 i + 2. Arrays are [n, channels] of this rank's points; a sequence has words and a mask
/// instead of x and dx, and where it has one prediction, y and dy are that one, the same on every
/// rank. weights (rows): of the points; empty: none.
class FlareGradients {
public:
    FlareGradients(const Context& context, const Model& model, const std::vector<int64_t>& rows,
                   const GradientWay& way, const std::vector<double>& weights = {})
        : rows_(rows),
          ids_(ids_of(rows)),
          domain_(context,
                  surrogate_points{matrix(&nothing_, n(), 0), ids_.empty() ? &no_id_ : ids_.data(),
                                   nullptr, weights.empty() ? nullptr : weights.data()}),
          network_(model.get()->model->network()),
          is_sequence_(network_.inputs().front().kind == impl::NumberKind::integer),
          is_pooled_(network_.outputs().front().place == impl::PortPlace::clouds),
          n_in_(is_sequence_ ? 0 : impl::n_channel_of(network_.inputs())),
          n_out_(network_.outputs().front().n_channel),
          x(size(n_in_)),
          y(is_pooled_ ? std::vector<double>(static_cast<size_t>(n_out_)) : size(n_out_)),
          dy(y),
          dx(size(n_in_)),
          sums(*model.get()->model->weights(), way.queue.n_thread(), way.order),
          outside_(way.queue.n_thread(), std::max<int64_t>(1, n_in_)),
          program(make_program(way)) {
        for (int64_t i = 0; i < n() && is_sequence_; ++i) {
            words.push_back(row(i) * 5 % 20);
            mask.push_back(row(i) % 4 != 1);
        }
        for (int64_t c = 0; c < n_out_ && is_pooled_; ++c)
            dy[static_cast<size_t>(c)] = std::cos(0.9 * static_cast<double>(c));
        for (int64_t i = 0; i < n(); ++i) {
            for (int64_t c = 0; c < n_in_; ++c)
                x[at(i, c, n_in_)] = std::sin(0.7 * static_cast<double>(row(i) * n_in_ + c) + 0.3);
            for (int64_t c = 0; c < n_out_ && !is_pooled_; ++c)
                dy[at(i, c, n_out_)] = std::cos(0.9 * static_cast<double>(row(i) * n_out_ + c));
        }
    }

    int64_t n() const { return std::ssize(rows_); }
    int64_t row(int64_t i) const { return rows_[static_cast<size_t>(i)]; }
    int64_t n_in() const { return n_in_; }
    int64_t n_out() const { return n_out_; }
    bool is_pooled() const { return is_pooled_; }

    std::vector<impl::Column> inputs() {
        if (!is_sequence_) return columns_of(x, n_in_);
        const auto column = [&](std::vector<int64_t>& values) {
            return impl::Column{.data = values.empty() ? &no_word_ : values.data(),
                                .is_double = true};
        };
        return {column(words), column(mask)};
    }

    /// From x to y.
    bool evaluate() {
        outside_.clear();
        const bool alive = program->gather(inputs(), outside_).column < 0;
        const bool is_finite = program->evaluate(alive);
        program->scatter(columns_of(y, n_out_), alive && is_finite);
        return is_finite;
    }
    /// From dy to dx and sums.
    bool backward(bool alive = true) {
        return program->backward(columns_of(dy, n_out_), columns_of(dx, n_in_), alive, sums);
    }
    /// All of it, and the sums of all ranks.
    bool run() {
        sums.clear();
        evaluate();
        backward();
        return reduce();
    }
    bool reduce() { return sums.reduce(comm()); }
    std::vector<double> total() const { return {sums.total().begin(), sums.total().end()}; }
    impl::Communicator& comm() const { return domain_.get()->domain->context().comm(); }

    /// The same plan without gradients predicts.
    std::vector<double> prediction_without_gradients(const GradientWay& way) {
        const std::unique_ptr<impl::Program> plain = network_.program(request(way));
        plain->connect();
        std::vector<double> predicted(y.size());
        outside_.clear();
        plain->gather(inputs(), outside_);
        plain->evaluate(true);
        plain->scatter(columns_of(predicted, n_out_), true);
        return predicted;
    }

private:
    static std::vector<int64_t> ids_of(const std::vector<int64_t>& rows) {
        std::vector<int64_t> ids;
        for (const int64_t row : rows) ids.push_back(7 * row + 2);
        return ids;
    }
    std::vector<double> size(int64_t n_channel) const {
        return std::vector<double>(static_cast<size_t>(n() * n_channel));
    }
    static size_t at(int64_t i, int64_t c, int64_t n_channel) {
        return static_cast<size_t>(i * n_channel + c);
    }
    impl::PlanRequest request(const GradientWay& way) const {
        impl::PlanRequest request{*domain_.get()->domain, *domain_.get()->domain, way.queue};
        request.precision = way.precision;
        request.reproducible = way.reproducible;
        request.gradients = true;
        request.saves_less = way.saves_less;
        request.device = way.device;
        return request;
    }
    std::unique_ptr<impl::GradientProgram> make_program(const GradientWay& way) const {
        const auto make = [&]() -> std::unique_ptr<impl::GradientProgram> {
            if (way.program) return way.program(request(way));
            if (!way.device) return network_.gradient_program(request(way));
            return network_.device_gradient_program(request(way));
        };
        auto made = make();
        made->connect();
        made->set_dropout(way.draw);
        return made;
    }

    const double nothing_ = 0;
    const int64_t no_id_ = 0;
    const std::vector<int64_t> rows_, ids_;
    const Domain domain_;
    const impl::Network& network_;
    const bool is_sequence_, is_pooled_;
    const int64_t n_in_, n_out_;
    int64_t no_word_ = 0;

public:
    std::vector<int64_t> words, mask;
    std::vector<double> x, y, dy, dx;
    impl::GradientSums sums;

private:
    impl::OutsideCounts outside_;

public:
    const std::unique_ptr<impl::GradientProgram> program;
};

}  // namespace surrogate::test
