// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/readout.hpp"

#include <string>
#include <utility>

#include "kernels/activation/activation.hpp"
#include "libsurrogate/src/model/hept/sites.hpp"

namespace surrogate::impl::hept {

using kernels::Activation;
using kernels::Tile;

namespace {

/// Allocates tiles of a given number of channels one after the other, with as many points as
/// `like`.
template <class T>
class TileStack {
public:
    TileStack(T* data, Tile<const T> like) : data_(data), n_point_(like.shape[1]) {}
    Tile<T> next(int64_t n_channel) {
        const Tile<T> tile{data_, {n_channel, n_point_}, {kernels::tile_points, 1}};
        data_ += n_channel * kernels::tile_points;
        return tile;
    }

private:
    T* data_;
    int64_t n_point_;
};

}  // namespace

/// Computes layer j: its sum and its result. `result` may be the same tile as `sum`.
template <class T>
void Readout<T>::hidden(size_t j, Tile<const T> from, Tile<T> sum, Tile<T> result) const {
    kernels::linear<T>(queue_, layers_.mlp[j], from, {}, sum);
    kernels::normalise<T>(queue_, layers_.mlp_norm[j], sum, result);
    kernels::activate<T>(queue_, Activation::tanh, result, result);
}

/// Computes e + drop(last layer).
template <class T>
void Readout<T>::embed(Tile<const T> e, Tile<const T> last, const Masks& masks,
                       Tile<T> embedding) const {
    const bool drops = masks.dropout && masks.dropout->drops(config_.dropout);
    kernels::linear<T>(queue_, layers_.mlp.back(), last, drops ? Tile<const T>{} : e, embedding);
    if (!drops) return;
    masks.dropout->apply(readout_site(config_), masks.rows, embedding);
    add<T>(e, embedding);
}

template <class T>
void Readout<T>::run(Tile<const T> e, T* scratch, Tile<T> y, const Dropout* dropout,
                     const DropoutRows& rows) const {
    TileStack<T> stack(scratch, e);
    const std::array wide = {stack.next(Config::mlp_width), stack.next(Config::mlp_width)};
    Tile<const T> from = e;
    for (size_t j = 0; j < n_norm; ++j) {
        hidden(j, from, wide[j % 2], wide[j % 2]);
        from = wide[j % 2];
    }
    const bool has_classes = config_.num_classes > 0;
    const Tile<T> embedding = has_classes ? stack.next(config_.n_embedding()) : y;
    embed(e, from, {dropout, rows}, embedding);
    if (has_classes) kernels::linear<T>(queue_, layers_.out, embedding, {}, y);
}

/// Computes the gradient of the embedding, e + mlp(e), from dy.
template <class T>
Tile<const T> Readout<T>::outer_backward(Tile<const T> e, Tile<const T> last, Tile<const T> dy,
                                         const Gradients& gradients, const Masks& masks,
                                         Tile<T> embedding, Tile<T> dembedding) const {
    if (config_.num_classes == 0) return dy;
    embed(e, last, masks, embedding);
    kernels::linear_gradient<T>(queue_, embedding, dy, gradients.linear("out_proj"));
    kernels::linear_backward<T>(queue_, layers_.out, dy, {}, false, dembedding);
    return dembedding;
}

/// Differentiates layer j: dresult, the gradient of its result, is replaced by the gradient of its
/// sum.
template <class T>
void Readout<T>::hidden_backward(size_t j, const Saved& saved, Tile<const T> from,
                                 const Gradients& gradients, Tile<T> work, Tile<T> dresult) const {
    const std::string index = std::to_string(j);
    kernels::normalise<T>(queue_, layers_.mlp_norm[j], saved.sums[j], work);
    kernels::activate_backward<T>(queue_, Activation::tanh, work, dresult, dresult);
    kernels::normalise_backward<T>(queue_, layers_.mlp_norm[j], saved.sums[j], dresult, {}, dresult,
                                   gradients.layer_norm(WeightName("mlp_out.norms.") + index));
    kernels::linear_gradient<T>(queue_, from, dresult,
                                gradients.linear(WeightName("mlp_out.lins.") + index));
}

template <class T>
void Readout<T>::backward(Tile<const T> e, Tile<const T> dy, const Gradients& gradients, T* scratch,
                          Tile<T> de, const Dropout* dropout, const DropoutRows& rows) const {
    TileStack<T> stack(scratch, e);
    Saved saved;
    for (size_t j = 0; j < n_norm; ++j) {
        saved.sums[j] = stack.next(Config::mlp_width);
        saved.results[j] = stack.next(Config::mlp_width);
        hidden(j, j == 0 ? e : saved.results[j - 1], saved.sums[j], saved.results[j]);
    }
    Tile<T> dresult = stack.next(Config::mlp_width), work = stack.next(Config::mlp_width);
    const Tile<T> embedding = stack.next(config_.n_embedding());
    const Tile<T> dembedding = stack.next(config_.n_embedding());
    const Tile<const T> last = saved.results.back();
    const Tile<const T> d =
        outer_backward(e, last, dy, gradients, {dropout, rows}, embedding, dembedding);
    Tile<const T> dlast = d;  // of the last layer's result
    if (dropout && dropout->drops(config_.dropout)) {
        const Tile<T> dropped = stack.next(config_.n_embedding());
        dropout->apply<T>(readout_site(config_), rows, d, false, dropped);
        dlast = dropped;
    }
    kernels::linear_gradient<T>(queue_, last, dlast, gradients.linear("mlp_out.lins.4"));
    kernels::linear_backward<T>(queue_, layers_.mlp.back(), dlast, {}, false, dresult);
    for (size_t j = n_norm - 1; j > 0; --j) {
        hidden_backward(j, saved, saved.results[j - 1], gradients, work, dresult);
        kernels::linear_backward<T>(queue_, layers_.mlp[j], dresult, {}, false, work);
        std::swap(work, dresult);
    }
    hidden_backward(0, saved, e, gradients, work, dresult);
    kernels::linear_backward<T>(queue_, layers_.mlp.front(), dresult, d, false, de);
}

template class Readout<float>;
template class Readout<double>;

}  // namespace surrogate::impl::hept
