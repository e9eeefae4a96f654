// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"
#include "libsurrogate/src/model/sequoia/nodes.hpp"

namespace surrogate::impl::sequoia {

/// Location of predictions: at the leaves, or in rows that every rank has.
enum class Place { leaves, nodes, cloud };
Place place_of(const Config& config);

/// Predictions of the probed nodes: y = head(norm(x)), a row for each node; or head(mean of
/// norm(x)) or head(norm(x of the root)), one row of the cloud.
///
/// The mean is a sum in double along the tree: each node adds its own row, then what its children
/// have summed, in ascending order. It does not depend on ranks, threads or tiles.
template <class T>
class Readout {
public:
    Readout(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// For the nodes of `tree`, which must outlive it. Takes memory for more than ever before.
    void resize(const Tree& tree, int size);

    /// Collective; takes no memory. Rows of leaves go to `leaves`, whose order is that of the own
    /// leaves; others to rows().
    void run(Communicator& comm, const NodeTiles<T>& x, const kernels::Tiles<T>& leaves);

    /// (n_row(), num_classes), on every rank; NaN where nodes to read do not exist.
    const T* rows() const { return rows_.data(); }
    int64_t n_row() const { return n_row_; }

    /// Returns whether nodes of a level are read, and how many over all ranks.
    bool reads(int l) const;
    int64_t n_read() const;
    /// (C, 1): the row of a cloud before the head.
    kernels::Tile<T> cloud() { return {cloud_.data(), {config_.dim, 1}, {kernels::lane_count, 1}}; }

    /// Returns the bytes that this rank sends, and calls of the communicator.
    int64_t bytes_sent() const;
    int64_t collectives() const;

    int64_t bytes() const;

private:
    /// Memory of one thread.
    struct Scratch {
        kernels::Buffer<T> normed, mlp, y;  // (C), (2 M), (c_out)
    };

    template <class Body>
    void for_tiles(int l, const Body& body);
    kernels::Tile<T> normed(kernels::Tile<const T> x, Scratch& scratch) const;
    kernels::Tile<T> predict(kernels::Tile<const T> normed, Scratch& scratch) const;
    void read_leaves(const NodeTiles<T>& x, const kernels::Tiles<T>& leaves);
    void read_nodes(Communicator& comm, const NodeTiles<T>& x);
    void gather_rows(Communicator& comm, int l, int64_t first_row);
    void read_mean(Communicator& comm, const NodeTiles<T>& x);
    void add_up(int l, int64_t tile, const NodeTiles<T>& x, Scratch& scratch);
    void predict_cloud();

    int first_level() const { return config_.probe == Probe::virtual_nodes ? 1 : 0; }

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const Tree* tree_ = nullptr;
    int size_ = 1;
    int64_t n_row_ = 0;
    kernels::Buffer<T> rows_, own_rows_, cloud_;
    NodeTiles<double> sums_;  // (C): of a node and its descendants, if there is a mean
    CutGather<double> gather_;
    std::vector<int64_t> n_bytes_;  // (size)
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::sequoia
