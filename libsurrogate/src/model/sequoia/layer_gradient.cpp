// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/layer_gradient.hpp"

#include <algorithm>
#include <array>

#include "libsurrogate/src/model/sequoia/sites.hpp"

namespace surrogate::impl::sequoia {

using kernels::Buffer;
using kernels::Tile;

template <class T>
LayerGradient<T>::LayerGradient(const Config& config, const Layers<T>& layers,
                                const kernels::Queue& queue, const Dropout& dropout,
                                bool saves_less)
    : config_(config),
      layers_(layers),
      queue_(queue),
      dropout_(dropout),
      attention_(config, queue, true),
      saves_less_(saves_less),
      values_(saves_less ? 1 : static_cast<size_t>(config.num_layers)),
      scratch_(static_cast<size_t>(queue.n_thread())) {
    for (int64_t i = 0; i < config.num_layers; ++i) names_.emplace_back(layer_name(config, i));
}

template <class T>
void LayerGradient<T>::resize(const Tree& tree, const Chunks& chunks) {
    tree_ = &tree;
    chunks_ = &chunks;
    visits_ = visits(config_.schedule, tree.n_level());
    const int64_t n_inner = config_.inner_dim();
    attention_.resize(tree, false);
    sums_.resize(tree, n_inner, chunks.block_level(), config_.ancestors == Ancestors::all);
    dqkv_.resize(tree, 3 * n_inner);
    thirds_.resize(tree, n_inner);
    const int64_t row = kernels::round_up(tree.tile_nodes(), kernels::lane_count);
    for (LayerValues<T>& values : values_) values.resize(config_, tree, !saves_less_);
    for (Scratch& s : scratch_) {
        attention_.resize(s.attention);
        s.ancestors.reserve(static_cast<size_t>(s.attention.ancestors.size()));
        for (Buffer<T>* buffer : {&s.x, &s.dx, &s.inner, &s.normed, &s.dnormed, &s.branch})
            buffer->resize(config_.dim * row);
        for (Buffer<T>* buffer : {&s.saved, &s.hidden})
            buffer->resize(2 * config_.hidden_dim * row);
        for (Buffer<T>* buffer : {&s.value, &s.dvalue}) buffer->resize(n_inner * row);
        s.dqkv.resize(3 * n_inner * row);
    }
}

template <class T>
int64_t LayerGradient<T>::n_gather(const Config& config, const Tree& tree) {
    const std::vector<int> order = visits(config.schedule, tree.n_level());
    int64_t n = 0;
    bool is_behind = false;
    for (size_t v = order.size(); v-- > 0;) {
        if (order[v] >= tree.cut() && is_behind) {
            ++n;
            is_behind = false;
        }
        is_behind = is_behind || order[v] < tree.cut() ||
                    (order[v] == tree.cut() && order[v] > 0 && config.has_children);
    }
    return n + (is_behind ? 1 : 0);
}

template <class T>
template <class Body>
void LayerGradient<T>::for_tiles(int l, const Body& body) {
    queue_.parallel_for(tree_->n_tile(l), [&](int64_t tile, int thread) {
        body(tile, scratch_[static_cast<size_t>(thread)]);
    });
}

template <class T>
template <class Body>
void LayerGradient<T>::for_parts(int l, const Body& body) {
    queue_.parallel_for(chunks_->n_part(l), [&](int64_t part, int thread) {
        chunks_->for_tiles(l, chunks_->part(l, part), [&](Range nodes) {
            body(nodes, part, scratch_[static_cast<size_t>(thread)]);
        });
    });
}

/// Recomputes the forward pass up to the last values.
template <class T>
void LayerGradient<T>::attend(const LayerWeights<T>& weights, Communicator& comm,
                              CutGather<T>& gather, const NodeTiles<T>& x) {
    const NodeTiles<T>& qkv = attention_.qkv();
    for (int l = 0; l < tree_->n_level(); ++l) {
        for_tiles(l, [&](int64_t tile, Scratch& s) {
            const Tile<T> normed = scratch(s.normed, config_.dim, x.tile(l, tile));
            kernels::normalise<T>(queue_, weights.norm1, x.tile(l, tile), normed);
            kernels::linear<T>(queue_, weights.qkv, normed, {}, qkv.tile(l, tile));
        });
    }
    for (size_t visit = 0; visit < visits_.size(); ++visit) {
        const int l = visits_[visit];
        if (l > 0 && config_.has_children) {
            for_tiles(l - 1, [&](int64_t tile, Scratch& s) {
                attention_.attend_of_parents(l - 1, tile, qkv.tile(l - 1, tile), s.attention);
            });
            if (l == tree_->cut()) gather.run(comm, attention_.children().level(l));
        }
        for_tiles(l, [&](int64_t tile, Scratch& s) {
            now_->keep(visit, l, tile);
            attention_.attend(l, tile, qkv.tile(l, tile), s.attention);
        });
    }
}

/// Computes dnormed, the gradient of the MLP's input, from dx, the gradient of the layer's result.
template <class T>
void LayerGradient<T>::mlp_backward(int64_t i, const DropoutRows& rows, Tile<const T> normed,
                                    const Gradients& gradients, Tile<const T> dx, Tile<T> dnormed,
                                    Scratch& s) {
    const LayerWeights<T>& weights = layers_.layer(i);
    const WeightName& name = names_[static_cast<size_t>(i)];
    const Tile<T> saved = scratch(s.saved, 2 * config_.hidden_dim, dnormed);
    const Tile<T> hidden = scratch(s.hidden, 2 * config_.hidden_dim, dnormed);
    const Tile<T> branch = scratch(s.branch, config_.dim, dnormed);
    const std::array mlp = {gradients.linear(name + "mlpblock.0"),
                            gradients.linear(name + "mlpblock.3")};
    if (dropout_.drops(config_.dropout)) {
        const DropoutMlp<T> dropped = dropout_mlp<T>(config_, queue_, weights, dropout_, i);
        dropped.save(rows, normed, saved);
        for (int64_t c = 0; c < dx.shape[0]; ++c)
            std::copy_n(&dx(c, 0), dx.shape[1], &branch(c, 0));
        dropped.backward(rows, normed, saved, branch, mlp,
                         kernels::channels(hidden, 0, config_.hidden_dim), dnormed);
        return;
    }
    kernels::residual_mlp_forward<T>(queue_, weights.mlp.view(), normed, saved, false, branch);
    kernels::residual_mlp_backward<T>(queue_, weights.mlp.view(), normed, saved, dx, mlp, hidden,
                                      false, dnormed);
}

/// Computes dv and the gradient dx of the residual from dx, the gradient of the layer's result.
template <class T>
void LayerGradient<T>::finish_backward(int64_t i, const LevelNodes& at, const NodeTiles<T>& x_of,
                                       const Gradients& gradients, const NodeTiles<T>& dx_of,
                                       Scratch& s) {
    const LayerWeights<T>& weights = layers_.layer(i);
    const WeightName& name = names_[static_cast<size_t>(i)];
    const int64_t n_inner = config_.inner_dim();
    const DropoutRows rows = rows_from(*tree_, at.level, at.nodes.begin);
    const DropoutSite site = attention_site(config_, i);
    const bool drops = dropout_.drops(site.rate);
    const Tile<T> x = x_of.load(at.level, at.nodes, 0, config_.dim, s.x);
    const Tile<T> dx = dx_of.load(at.level, at.nodes, 0, config_.dim, s.dx);
    const Tile<T> v = attention_.qkv().load(at.level, at.nodes, 2 * n_inner, n_inner, s.value);
    const Tile<T> inner = saves_less_
                              ? scratch(s.inner, config_.dim, x)
                              : now_->inner.load(at.level, at.nodes, 0, config_.dim, s.inner);
    const Tile<T> normed = scratch(s.normed, config_.dim, x);
    const Tile<T> dnormed = scratch(s.dnormed, config_.dim, x);
    const Tile<T> dv = scratch(s.dvalue, n_inner, x);
    if (saves_less_ && drops) {
        const Tile<T> branch = scratch(s.branch, config_.dim, x);
        kernels::linear<T>(queue_, weights.ff, v, {}, branch);
        std::copy_n(x.data, x.shape[0] * x.stride[0], inner.data);
        dropout_.apply<T>(site, rows, branch, true, inner);
    } else if (saves_less_) {
        kernels::linear<T>(queue_, weights.ff, v, x, inner);
    }
    kernels::normalise<T>(queue_, weights.norm2, inner, normed);
    mlp_backward(i, rows, normed, gradients, dx, dnormed, s);
    kernels::normalise_backward<T>(queue_, weights.norm2, inner, dnormed, dx, dx,
                                   gradients.layer_norm(name + "norm2"));
    dx_of.store(at.level, at.nodes, 0, dx);
    Tile<const T> dff = dx;
    if (drops) {
        dropout_.apply<T>(site, rows, dx, false, inner);
        dff = inner;
    }
    kernels::linear_gradient<T>(queue_, v, dff, gradients.linear(name + "mha.ff"));
    kernels::linear_backward<T>(queue_, weights.ff, dff, {}, false, dv);
    dqkv_.store(at.level, at.nodes, 2 * n_inner, dv);
}

/// Differentiates the attention of nodes in one tile and chunk to ancestors and siblings.
template <class T>
void LayerGradient<T>::tree_backward(int l, Range nodes, int64_t part, Scratch& s) {
    const int64_t n_inner = config_.inner_dim();
    const int block = chunks_->block_level();
    const auto tile = [&](const NodeTiles<T>& of, int64_t c) {
        return kernels::channels(of.nodes(l, nodes.begin, nodes.size()), c * n_inner, n_inner);
    };
    s.ancestors.clear();
    attention_.for_ancestors(l, nodes, [&](int above, int64_t node) {
        if (above == l + 1 || above <= block) {  // only this thread adds to the node
            const Tile<T> to = dqkv_.nodes(above, node, 1);
            s.ancestors.push_back(
                {attention_.part(to, 1).data, attention_.part(to, 2).data, to.stride[0]});
        } else if (l < block) {
            s.ancestors.push_back(sums_.at(block, chunks_->block(part), above));
        } else {
            s.ancestors.push_back(sums_.at(l + 1, nodes.begin / tree_->k(), above));
        }
    });
    const NodeTiles<T>& qkv = attention_.qkv();
    kernels::sequoia::attend_tree_backward<T>(
        queue_, attention_.heads(), tile(qkv, 0), tile(qkv, 1), tile(qkv, 2),
        attention_.around(l, nodes, s.attention), tile(thirds_, 0), s.ancestors,
        s.attention.work.data(), tile(dqkv_, 0), tile(dqkv_, 1), tile(dqkv_, 2));
}

/// Differentiates the attention of parents to their children, nodes of level l in one tile and
/// chunk. Adds the gradients of the parents' queries and of the children's keys and values.
template <class T>
void LayerGradient<T>::children_backward(int l, Range nodes, Scratch& s) {
    const NodeTiles<T>& qkv = attention_.qkv();
    attention_.for_parents(l, nodes, [&](const typename Attention<T>::Family& f) {
        const auto parents = [&](const NodeTiles<T>& of) {
            return attention_.part(of.nodes(l + 1, f.parent, f.n_parent), 0);
        };
        const auto some = [&](const NodeTiles<T>& of, int which) {
            return attention_.part(of.nodes(l, nodes.begin + f.child, f.n_child), which);
        };
        kernels::sequoia::attend_children_backward<T>(
            queue_, attention_.heads(), tree_->k(), f.n_last, parents(qkv), some(qkv, 1),
            some(qkv, 2), parents(thirds_), s.attention.work.data(), parents(dqkv_), some(dqkv_, 1),
            some(dqkv_, 2));
    });
}

template <class T>
void LayerGradient<T>::visit_backward(size_t visit, Communicator& comm) {
    const int l = visits_[visit], cut = tree_->cut(), block = chunks_->block_level();
    const bool has_children = l > 0 && config_.has_children;
    sums_.complete(l, comm, queue_, dqkv_);
    for_tiles(l, [&](int64_t tile, Scratch&) {
        now_->put_back(visit, l, tile);
        kernels::sequoia::take_thirds<T>(queue_, attention_.part(dqkv_.tile(l, tile), 2),
                                         thirds_.tile(l, tile));
    });
    for_parts(l, [&](Range nodes, int64_t part, Scratch& s) { tree_backward(l, nodes, part, s); });
    if (has_children) {
        for_parts(l - 1,
                  [&](Range nodes, int64_t, Scratch& s) { children_backward(l - 1, nodes, s); });
    }
    sums_.touch(l < block ? block : l + 1);
    if (l < cut || (l == cut && has_children)) sums_.touch_shared();
}

/// Adds the gradient of the layer's input to dx, from dq, dk, dv.
template <class T>
void LayerGradient<T>::project_backward(int64_t i, const LevelNodes& at, const NodeTiles<T>& x_of,
                                        const Gradients& gradients, const NodeTiles<T>& dx_of,
                                        Scratch& s) {
    const LayerWeights<T>& weights = layers_.layer(i);
    const WeightName& name = names_[static_cast<size_t>(i)];
    const Tile<T> x = x_of.load(at.level, at.nodes, 0, config_.dim, s.x);
    const Tile<T> dx = dx_of.load(at.level, at.nodes, 0, config_.dim, s.dx);
    const Tile<T> dqkv = dqkv_.load(at.level, at.nodes, 0, 3 * config_.inner_dim(), s.dqkv);
    const Tile<T> normed = scratch(s.normed, config_.dim, x);
    const Tile<T> dnormed = scratch(s.dnormed, config_.dim, x);
    kernels::normalise<T>(queue_, weights.norm1, x, normed);
    kernels::linear_backward<T>(queue_, weights.qkv, dqkv, {}, false, dnormed);
    // The weights in the file produce unscaled queries.
    const Tile<T> dq = attention_.part(dqkv, 0);
    const T scale = static_cast<T>(query_scale(config_));
    std::for_each_n(dq.data, dq.shape[0] * dq.stride[0], [&](T& value) { value *= scale; });
    int which = 0;
    for (const char* projection : {"mha.W_q", "mha.W_k", "mha.W_v"}) {
        kernels::linear_gradient<T>(queue_, normed, attention_.part(dqkv, which++),
                                    gradients.linear(name + projection));
    }
    kernels::normalise_backward<T>(queue_, weights.norm1, x, dnormed, dx, dx,
                                   gradients.layer_norm(name + "norm1"));
    dx_of.store(at.level, at.nodes, 0, dx);
}

template <class T>
void LayerGradient<T>::run(int64_t i, Communicator& comm, CutGather<T>& gather,
                           const NodeTiles<T>& x, GradientSums& sums, const NodeTiles<T>& dx) {
    const WeightName& name = names_[static_cast<size_t>(i)];
    const MasterWeights& master = layers_.weights.master();
    now_ = &values_[saves_less_ ? 0 : static_cast<size_t>(i)];
    attention_.use(&now_->qkv);
    if (saves_less_) attend(layers_.layer(i), comm, gather, x);
    dqkv_.fill(queue_, 0);
    for_chunks(*chunks_, queue_, master, sums,
               range_of(master, name + "mha.ff.weight", name + "mlpblock.3.bias"),
               [&](int64_t chunk, int thread, const Gradients& gradients) {
                   chunks_->for_pieces(chunk, [&](const LevelNodes& at) {
                       finish_backward(i, at, x, gradients, dx,
                                       scratch_[static_cast<size_t>(thread)]);
                   });
               });
    for (size_t visit = visits_.size(); visit-- > 0;) visit_backward(visit, comm);
    sums_.complete(tree_->n_level(), comm, queue_, dqkv_);
    for_chunks(*chunks_, queue_, master, sums,
               range_of(master, name + "norm1.weight", name + "mha.W_v.bias"),
               [&](int64_t chunk, int thread, const Gradients& gradients) {
                   chunks_->for_pieces(chunk, [&](const LevelNodes& at) {
                       project_backward(i, at, x, gradients, dx,
                                        scratch_[static_cast<size_t>(thread)]);
                   });
               });
}

template <class T>
int64_t LayerGradient<T>::bytes() const {
    int64_t n_byte = attention_.bytes() + sums_.bytes() + dqkv_.bytes() + thirds_.bytes();
    for (const LayerValues<T>& values : values_) n_byte += values.bytes();
    for (const Scratch& s : scratch_) {
        n_byte += s.attention.bytes();
        for (const Buffer<T>* buffer : {&s.x, &s.dx, &s.dqkv, &s.value, &s.dvalue, &s.inner,
                                        &s.normed, &s.dnormed, &s.saved, &s.hidden, &s.branch})
            n_byte += buffer->bytes();
    }
    return n_byte;
}

template class LayerGradient<float>;
template class LayerGradient<double>;

}  // namespace surrogate::impl::sequoia
