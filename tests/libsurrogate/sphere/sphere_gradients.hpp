// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/model/gradient_program.hpp"
#include "tests/support/sphere_case.hpp"

namespace surrogate::test {

/// How gradients are computed.
struct SphereWay {
    std::string precision = "fp64";
    bool reproducible = false;
    kernels::Queue queue = {};
    impl::GradientOrder order = impl::GradientOrder::real;
};

/// A network on the sphere with one input and its gradients, on this rank's block. Fields are
/// [n, channels]; whole ones (channels, n_lat, n_lon).
class SphereGradients {
public:
    SphereGradients(const Context& context, const Model& model, const SphereLayout& layout,
                    const SphereWay& way)
        : in_(model.input_domain(), layout, context.rank(), context.size()),
          out_(model.output_domain(), layout, context.rank(), context.size()),
          input_(context, in_.sphere()),
          output_(context, out_.sphere()),
          network_(model.get()->model->network()),
          n_in(network_.inputs().front().n_channel),
          n_out(network_.outputs().front().n_channel),
          x(in_, n_in),
          dx(in_, n_in),
          y(out_, n_out),
          dy(out_, n_out),
          sums(*model.get()->model->weights(), way.queue.n_thread(), way.order),
          outside_(way.queue.n_thread(), n_in) {
        impl::PlanRequest request{*input_.get()->domain, *output_.get()->domain, way.queue};
        request.precision = way.precision;
        request.reproducible = way.reproducible;
        request.gradients = true;
        program = network_.gradient_program(request);
        program->connect();
    }

    bool evaluate() {
        outside_.clear();
        const bool alive = program->gather(inputs(x), outside_).column < 0;
        const bool is_finite = program->evaluate(alive);
        program->scatter(outputs(y), alive && is_finite);
        return is_finite;
    }
    bool backward(bool alive = true) {
        return program->backward(outputs(dy), inputs(dx), alive, sums);
    }
    bool reduce() { return sums.reduce(comm()); }
    /// All of it, and the sums of all ranks.
    bool run() {
        sums.clear();
        const bool is_evaluated = evaluate();
        const bool is_back = backward();
        return reduce() && is_evaluated && is_back;
    }
    impl::Communicator& comm() const { return input_.get()->domain->context().comm(); }
    std::vector<impl::Column> inputs(BlockFields<double>& fields) {
        return columns(in_, fields, n_in);
    }
    std::vector<impl::Column> outputs(BlockFields<double>& fields) {
        return columns(out_, fields, n_out);
    }
    std::vector<double> total() const { return {sums.total().begin(), sums.total().end()}; }

private:
    std::vector<impl::Column> columns(const SphereBlock& block, BlockFields<double>& fields,
                                      int64_t n_channel) {
        std::vector<impl::Column> list;
        for (int64_t c = 0; c < n_channel; ++c)
            list.push_back(
                {fields.values().data() + block.first_point() * n_channel + c, n_channel, true});
        return list;
    }

    const SphereBlock in_, out_;
    const Domain input_, output_;
    const impl::Network& network_;

public:
    const int64_t n_in, n_out;
    BlockFields<double> x, dx, y, dy;
    impl::GradientSums sums;
    std::unique_ptr<impl::GradientProgram> program;

private:
    impl::OutsideCounts outside_;
};

/// The slope of the loss of the golden files, sum over flat index n of y_n cos(0.7 n).
inline std::vector<float> golden_slope(int64_t size) {
    std::vector<float> slope;
    for (int64_t n = 0; n < size; ++n)
        slope.push_back(static_cast<float>(std::cos(0.7 * static_cast<double>(n))));
    return slope;
}

}  // namespace surrogate::test
