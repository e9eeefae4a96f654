// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/model/sphere/attention.hpp"
#include "libsurrogate/src/model/sphere/convolution.hpp"
#include "libsurrogate/src/model/sphere/point_norm.hpp"
#include "libsurrogate/src/model/sphere/ports.hpp"
#include "libsurrogate/src/model/sphere/resampling.hpp"

namespace surrogate::impl::sphere {

/// A network of the sphere spread over ranks: from rows of its inputs to rows of its output.
/// Construction is local and takes the memory, connect() is collective.
template <class T>
class Program {
public:
    virtual ~Program() = default;

    /// Collective: plans all exchanges.
    virtual void connect() = 0;

    /// Collective: inputs are delivered, output rows are written to output().field(). False if sums
    /// over the grid were not finite, on every rank alike.
    virtual bool run() = 0;

    virtual std::vector<LayerCost> costs() const = 0;
    virtual int64_t bytes() const = 0;
    std::vector<std::unique_ptr<InputPort<T>>>& inputs() { return inputs_; }
    OutputPort<T>& output() { return *output_; }
    const std::vector<std::string>& notes() const { return notes_; }

protected:
    explicit Program(const Frame& frame) : frame_(frame) {}

    /// Ports to and from the solver; part of connect().
    void connect_ports(const Bands& output_bands);
    void add_port_costs(std::vector<LayerCost>& list, bool are_inputs) const;
    int64_t port_bytes() const;

    const Frame& frame_;
    std::vector<std::unique_ptr<InputPort<T>>> inputs_;
    std::unique_ptr<OutputPort<T>> output_;
    std::vector<std::string> notes_;  ///< for the table of the plan
    Scratch<T> scratch_;
};

/// What a program is made from.
struct ProgramRequest {
    const Frame& frame;
    const SphereDomain& input;
    const SphereDomain& output;
};

template <class T>
std::unique_ptr<Program<T>> make_program(const ProgramRequest& request, const Transformer& config,
                                         const Weights<T>& weights);
template <class T>
std::unique_ptr<Program<T>> make_program(const ProgramRequest& request, const Segformer& config,
                                         const Weights<T>& weights);
template <class T>
std::unique_ptr<Program<T>> make_program(const ProgramRequest& request, const Attention& config,
                                         const Weights<T>& weights);
template <class T>
std::unique_ptr<Program<T>> make_program(const ProgramRequest& request, const Convolution& config,
                                         const Weights<T>& weights);
template <class T>
std::unique_ptr<Program<T>> make_program(const ProgramRequest& request, const Resample& config,
                                         const Weights<T>& weights);

/// Cost of every row of an output grid, in flops, for layers of which each column of a row costs
/// `work.point_flops` and each pair within theta_cutoff `work.pair_flops` (0: no pairs are
/// counted).
std::vector<double> row_costs(const Grid& out, const Grid& in, double theta_cutoff,
                              const RowWork& work);
void add_costs(std::vector<double>& sum, const std::vector<double>& cost, double times = 1);

/// Who computes the rows of a grid that the solver has, too: the solver's own bands, or balanced
/// ones if the time that saves is longer than its fields take to travel, or if the solver has
/// blocks. Adds a note that says so. n_channel: of the fields that would travel.
Bands choose_bands(const Frame& frame, const SphereDomain& domain,
                   const std::vector<double>& row_cost, int64_t n_channel,
                   std::vector<std::string>& notes);

/// Balanced bands of a grid of the network's own, with a note.
Bands inner_bands(const Frame& frame, const Grid& grid, const SphereDomain& domain,
                  const std::vector<double>& row_cost, std::vector<std::string>& notes);

/// The smallest range that holds both; empty ranges do not count.
Range hull(Range a, Range b);

}  // namespace surrogate::impl::sphere
