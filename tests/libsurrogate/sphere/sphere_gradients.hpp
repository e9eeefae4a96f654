// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "tests/support/sphere_case.hpp"

namespace surrogate::test {

/// Options of a gradient computation.
struct SphereWay {
    std::string precision = "fp64";
    bool reproducible = false;
    kernels::Queue queue = {};
    impl::GradientOrder order = impl::GradientOrder::real;
    std::optional<impl::DropoutDraw> draw = {};  ///< none: nothing is dropped
};

inline kernels::Queue simd(int n_thread = 1,
                           kernels::VectorLevel level = kernels::best_vector_level()) {
    return {kernels::Backend::simd, level, n_thread};
}

inline const SphereWay exact_single{.precision = "fp32",
                                    .reproducible = true,
                                    .queue = simd(),
                                    .order = impl::GradientOrder::exact};

inline const SphereLayout layouts[] = {
    {.name = "Contiguous"},
    {.name = "Uneven", .partition = "uneven"},
    {.name = "BlocksFromTheSouth", .partition = "scattered", .south_first = true, .shift = 3},
};

/// A network on the sphere and its gradients, on this rank's block. Fields are [n, channels], a
/// field an input; whole ones (channels, n_lat, n_lon).
class SphereGradients {
public:
    SphereGradients(const Context& context, const Model& model, const SphereLayout& layout,
                    const SphereWay& way)
        : in_(model.input_domain(), layout, context.rank(), context.size()),
          out_(model.output_domain(), layout, context.rank(), context.size()),
          input_(context, in_.sphere()),
          output_(context, out_.sphere()),
          network_(model.get()->model->network()),
          n_out(network_.outputs().front().n_channel),
          y(out_, n_out),
          dy(out_, n_out),
          sums(*model.get()->model->weights(), way.queue.n_thread(), way.order) {
        for (const impl::Port& port : network_.inputs()) {
            const bool is_at_output = port.place == impl::PortPlace::output_points;
            input_blocks_.push_back(is_at_output ? &out_ : &in_);
            x.emplace_back(*input_blocks_.back(), port.n_channel);
            dx.emplace_back(*input_blocks_.back(), port.n_channel);
            n_in.push_back(port.n_channel);
        }
        outside_ = impl::OutsideCounts(way.queue.n_thread(),
                                       std::accumulate(n_in.begin(), n_in.end(), int64_t{0}));
        impl::PlanRequest request{*input_.get()->domain, *output_.get()->domain, way.queue};
        request.precision = way.precision;
        request.reproducible = way.reproducible;
        request.gradients = true;
        program = network_.gradient_program(request);
        program->connect();
        program->set_dropout(way.draw);
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
    std::vector<impl::Column> inputs(std::vector<BlockFields<double>>& fields) {
        std::vector<impl::Column> list;
        for (size_t i = 0; i < fields.size(); ++i)
            add_columns(*input_blocks_[i], fields[i], n_in[i], list);
        return list;
    }
    std::vector<impl::Column> outputs(BlockFields<double>& fields) {
        std::vector<impl::Column> list;
        add_columns(out_, fields, n_out, list);
        return list;
    }
    void fill(const std::vector<std::vector<float>>& inputs) {
        for (size_t i = 0; i < x.size(); ++i) x[i].fill(inputs.at(i));
    }
    std::vector<double> total() const { return {sums.total().begin(), sums.total().end()}; }

private:
    static void add_columns(const SphereBlock& block, BlockFields<double>& fields,
                            int64_t n_channel, std::vector<impl::Column>& list) {
        for (int64_t c = 0; c < n_channel; ++c)
            list.push_back(
                {fields.values().data() + block.first_point() * n_channel + c, n_channel, true});
    }

    const SphereBlock in_, out_;
    const Domain input_, output_;
    const impl::Network& network_;
    std::vector<const SphereBlock*> input_blocks_;  // (input)

public:
    std::vector<int64_t> n_in;  // (input)
    const int64_t n_out;
    std::vector<BlockFields<double>> x, dx;  // (input)
    BlockFields<double> y, dy;
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
