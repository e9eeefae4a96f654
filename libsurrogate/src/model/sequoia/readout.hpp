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

/// Location of predictions: at the leaves, or as rows that every rank holds.
enum class Place { leaves, nodes, cloud };
/// Returns the location of predictions for a model.
Place place_of(const Config& config);

/// Computes predictions of the probed nodes: y = head(norm(x)), one row per node; or head(mean of
/// norm(x)) or head(norm(x of the root)), one row for the cloud.
///
/// The mean is a sum in double along the tree: each node adds its own row, then the sums of its
/// children in ascending order. The result does not depend on ranks, threads or tiles.
template <class T>
class Readout {
public:
    /// Keeps references to `config` and `layers`, which must outlive this object. Local.
    Readout(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// Sets the nodes of `tree`, which must outlive this object. Local. Allocates only if the sizes
    /// exceed all earlier ones.
    void resize(const Tree& tree, int size);

    /// Computes predictions from x. Rows of leaves are written to `leaves`, in the order of the own
    /// leaves, all others to rows(). Collective. Does not allocate.
    void run(Communicator& comm, const NodeTiles<T>& x, const kernels::Tiles<T>& leaves);

    /// Returns the predictions (n_row(), num_classes), on every rank; NaN if the probed nodes do
    /// not exist.
    const T* rows() const { return rows_.data(); }
    int64_t n_row() const { return n_row_; }

    /// Returns true if nodes of a level are read. n_read() counts the nodes that are read, over all
    /// ranks.
    bool reads(int l) const;
    int64_t n_read() const;
    /// Returns the row of a cloud before the head, (C, 1).
    kernels::Tile<T> cloud() { return {cloud_.data(), {config_.dim, 1}, {kernels::lane_count, 1}}; }

    /// Returns the bytes that this rank sends, and the number of collective calls.
    int64_t bytes_sent() const;
    int64_t collectives() const;

    int64_t bytes() const;

private:
    /// Scratch memory of one thread.
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
    NodeTiles<double> sums_;  // (C): sums of a node and its descendants, only for means
    CutGather<double> gather_;
    std::vector<int64_t> n_bytes_;  // (size)
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::sequoia
