// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/ranks/reduce.hpp"

namespace surrogate::impl {

/// Gradients on their way from a solver's points to the tiles of a program and back: inputs of its
/// ports are dL / d(outputs of the network), outputs dL / d(inputs). Knows whether an evaluation
/// waits for its backward.
template <class T>
class BackwardPorts {
public:
    /// Keeps references: `domain` must outlive it. Local.
    BackwardPorts(const PointDomain& domain, const kernels::Queue& queue, int64_t n_output,
                  int64_t n_input)
        : ports(domain, queue, n_output, n_input),
          outside_(queue.n_thread(), n_output),
          columns_(static_cast<size_t>(n_input)) {}

    /// Scatters points by the route of the program's own ports. Collective.
    void follow(Communicator& comm, const RowRoute& route) {
        std::optional<RowRoute> copy;
        comm.agree([&] { copy.emplace(route); });
        ports.reorder(std::move(*copy));
    }
    /// Allocates and forgets a pending evaluation. Called after follow(), if at all. Local.
    void allocate() {
        waits_ = false;
        ports.allocate();
    }

    /// Records the result of an evaluation: true if a backward pass may follow.
    bool evaluated(bool is_good) { return waits_ = is_good; }
    /// Returns true if a backward pass may run: inputs were valid and an evaluation is pending.
    /// Clears the pending flag.
    bool begin(bool alive) { return std::exchange(waits_, false) && alive; }
    /// Reads doutputs; returns true if all are finite. Local.
    bool gather(std::span<const Column> doutputs) {
        return ports.gather(doutputs, outside_).column < 0;
    }

    /// Writes the gradients of the inputs, NaN if not alive. The caller may leave out the first
    /// ones, which are of coordinates. Collective.
    void scatter(std::span<const Column> dinputs, bool alive) {
        std::ranges::fill(columns_, Column{});
        std::ranges::copy(dinputs, columns_.end() - std::ssize(dinputs));
        ports.scatter(columns_, alive);
    }

    /// Returns true if a rank wants gradients of positions, the first n_axis inputs, through all
    /// that depends on them: not with gradients of weights, which take relative positions as
    /// constants. Collective, unless gradients of weights are wanted.
    bool wants_positions(Communicator& comm, std::span<const Column> dinputs, int64_t n_axis,
                         const GradientSums& sums) const {
        if (sums.is_wanted()) return false;
        const bool has_positions =
            dinputs.size() == columns_.size() &&
            std::ranges::any_of(dinputs.first(static_cast<size_t>(n_axis)),
                                [](const Column& column) { return column.data != nullptr; });
        return !on_all_ranks(comm, !has_positions);
    }

    int64_t bytes() const { return ports.bytes() + outside_.bytes(); }

    PointPorts<T> ports;

private:
    OutsideCounts outside_;        // of doutputs, which have no range
    std::vector<Column> columns_;  // (n_input)
    bool waits_ = false;
};

}  // namespace surrogate::impl
