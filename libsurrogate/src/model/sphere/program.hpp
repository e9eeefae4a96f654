// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/band_choice.hpp"
#include "libsurrogate/src/model/sphere/config.hpp"
#include "libsurrogate/src/model/sphere/ports.hpp"

namespace surrogate::impl::sphere {

/// Arguments of a program's constructor.
struct ProgramRequest {
    const SphereDomain& input;
    const SphereDomain& output;
    kernels::Queue queue;
    bool reproducible = false;
    bool divides_rows = false;  ///< see Frame; without gradients only
};

/// A network of the sphere spread over ranks: from rows of its inputs to rows of its output.
template <class T>
class GridProgram : public Program {
public:
    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override;
    bool evaluate(bool alive) override;
    BadValue scatter(std::span<const Column> outputs, bool alive) override;

    int64_t n_point() const override {
        return output_->field().rows().size() * output_->field().n_column();
    }
    std::vector<std::string> notes() const override;
    const Frame& frame() const { return frame_; }
    /// Sets the sample of GradientProgram::set_dropout().
    void set_dropout(std::optional<DropoutDraw> draw) { dropout_.set(draw); }

protected:
    /// Prepares the ports. Throws invalid_argument if the solver's longitudes differ from the
    /// model's. Local.
    explicit GridProgram(const ProgramRequest& request);

    /// Computes rows of the output, in output_->field(), from input rows. Returns false, on every
    /// rank, if sums over the grid were not finite. Collective.
    virtual bool run() = 0;

    /// Connects the ports to and from the solver; part of connect(). Collective.
    void connect_ports(const Bands& output_bands);
    void add_port_costs(std::vector<LayerCost>& list, bool are_inputs) const;
    int64_t port_bytes() const;

    Dropout dropout_;  ///< of training
    const Frame frame_;
    std::vector<std::unique_ptr<InputPort<T>>> inputs_;
    std::unique_ptr<OutputPort<T>> output_;
    std::vector<std::string> notes_;  ///< for the table of the plan
    Scratch<T> scratch_;
};

/// Makes the program of a network. `config`, `weights` and the domains must outlive it. Local.
template <class T>
std::unique_ptr<Program> make_program(const ProgramRequest& request, const Transformer& config,
                                      const Weights<T>& weights);
template <class T>
std::unique_ptr<Program> make_program(const ProgramRequest& request, const Segformer& config,
                                      const Weights<T>& weights);
template <class T>
std::unique_ptr<Program> make_program(const ProgramRequest& request, const Attention& config,
                                      const Weights<T>& weights);
template <class T>
std::unique_ptr<Program> make_program(const ProgramRequest& request, const Convolution& config,
                                      const Weights<T>& weights);
template <class T>
std::unique_ptr<Program> make_program(const ProgramRequest& request, const Resample& config,
                                      const Weights<T>& weights);

}  // namespace surrogate::impl::sphere
