// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "libsurrogate/src/model/sphere/program.hpp"

namespace surrogate::impl::sphere {

/// Forward and backward pass of a network of the sphere. Forward is the network's GridProgram and
/// gives bitwise identical results. Backward reads the gradient of the output and writes the
/// gradient of the input, on whole rows.
///
/// All sums over points run over rows in a fixed order, in gather form. Gradients are bitwise
/// identical for any number of ranks, partition, threads and vector width if chunks of weights are
/// added exactly (GradientOrder::exact) and the program is reproducible. Chunks are rows of grids.
template <class T>
class GridGradient : public GradientProgram {
public:
    void connect() override;
    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        return program_->gather(inputs, outside);
    }
    bool evaluate(bool alive) override;
    void set_dropout(std::optional<DropoutDraw> draw) override { program_->set_dropout(draw); }
    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        return program_->scatter(outputs, alive);
    }
    bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs, bool alive,
                  GradientSums& sums) override;

    int64_t n_point() const override { return program_->n_point(); }
    int64_t bytes() const override;
    std::vector<LayerCost> costs() const override;
    std::vector<std::string> notes() const override;
    bool leaves_out_weights() const override { return true; }
    std::vector<int> weight_stages() const override { return stages_; }

protected:
    explicit GridGradient(std::unique_ptr<GridProgram<T>> program);

    /// Sets the rows of the ports; part of construction. Backward reads the rows `wanted` of the
    /// gradient of the output (n_out channels), and computes the rows `bands` of the gradient of
    /// the input. Local.
    void set_ports(const ProgramRequest& request, int64_t n_out, Range wanted, int64_t n_in,
                   const Bands& bands);
    /// Sets output and inputs separately, for networks with several inputs. Inputs are added in the
    /// order of the ports.
    void set_output(const ProgramRequest& request, int64_t n_out, Range wanted);
    void add_input(const SphereDomain& domain, int64_t n_in, const Bands& bands);

    /// Sets the stages in which gradients are complete; part of construction. The last of the
    /// n_block blocks is the first in the backward pass: tensors blocks.i are complete in stage
    /// n_block - i, tensors whose names begin with `first` in stage 0, all others in stage n_block
    /// + 1. Local.
    void set_stages(const MasterWeights& master, int64_t n_block, std::string_view first);

    virtual void connect_layers() = 0;
    /// Computes gradients of weights from dy_->field(), and gradients of the input, into dx(), if
    /// they are wanted. Returns false, on every rank, if sums over the grid were not finite.
    /// Collective.
    virtual bool go_back(bool wants_inputs, GradientSums& sums) = 0;
    virtual int64_t layer_bytes() const = 0;
    virtual void add_layer_costs(std::vector<LayerCost>& list) const = 0;

    const std::unique_ptr<GridProgram<T>> program_;
    const Frame& frame_;
    std::unique_ptr<InputPort<T>> dy_;
    Field<T>& dx(size_t input = 0) { return inputs_[input].port->field(); }
    Scratch<T> scratch_;  ///< of backward

private:
    /// The way of an input's gradient to the solver.
    struct Input {
        std::unique_ptr<OutputPort<T>> port;
        Bands bands;
    };
    std::vector<Input> inputs_;
    std::vector<int> stages_;
    OutsideCounts outside_;  // gradients have no ranges: not read
    bool is_evaluated_ = false;
};

/// Creates the program with gradients. Local. `config`, `weights` and the domains must outlive the
/// program. Throws not_supported for layers without a backward pass.
template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const ProgramRequest& request,
                                                       const Transformer& config,
                                                       const Weights<T>& weights);
template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const ProgramRequest& request,
                                                       const Segformer& config,
                                                       const Weights<T>& weights);
template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const ProgramRequest& request,
                                                       const Attention& config,
                                                       const Weights<T>& weights);
template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const ProgramRequest& request,
                                                       const Convolution& config,
                                                       const Weights<T>& weights);
template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const ProgramRequest& request,
                                                       const Resample& config,
                                                       const Weights<T>& weights);

}  // namespace surrogate::impl::sphere
