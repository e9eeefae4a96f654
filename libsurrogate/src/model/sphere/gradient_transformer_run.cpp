// SPDX-License-Identifier: Apache-2.0
// A run of the Spherical Transformer's backward.
#include "kernels/norm/moments.hpp"
#include "libsurrogate/src/model/sphere/gradient_transformer.hpp"

namespace surrogate::impl::sphere {

namespace {

/// Norm of a field.
template <class T>
class NormalisedTiles final : public TileSource<T> {
public:
    NormalisedTiles(const PointNorm<T>& norm, Field<T>& x, Scratch<T>& scratch, int slot)
        : norm_(norm), x_(x), scratch_(scratch), slot_(slot) {}
    Tile<const T> tile(const Work& w, int thread) const override {
        const Tile<T> y = scratch_.tile(thread, slot_, x_.n_channel(), w.count);
        norm_.apply(x_.tile(w.row, w.first, w.count), y);
        return y;
    }

private:
    const PointNorm<T>& norm_;
    Field<T>& x_;
    Scratch<T>& scratch_;
    int slot_;
};

}  // namespace

template <class T>
bool TransformerGradient<T>::go_back(bool wants_inputs, GradientSums& sums) {
    if (!decode_back(sums)) return false;
    for (size_t i = blocks_.size(); i-- > 0;) {
        sums.finish_stage();
        if (!block_back(i, sums)) return false;
    }
    sums.finish_stage();
    drop_encoder_result();
    embedding_back(sums);
    encoder_weights_back(sums);
    if (wants_inputs) {
        encoder_.exchange(encoder_rows_, g_);
        input_back();
    }
    return true;
}

/// From the output's gradient to g_; forward_.x_ is what the decoder read.
template <class T>
bool TransformerGradient<T>::decode_back(GradientSums& sums) {
    const kernels::Queue& queue = this->frame_.queue;
    decoder_.load(decoder_rows_, this->dy_->field());
    const int64_t n_phase = decoder_rows_.stencil.n_phase_out;
    decoder_rows_.tiles.run(queue, [&](const Work& w, int thread) {
        decoder_.ring_gradient(decoder_rows_, this->scratch_, w, thread,
                               slopes().tile(w.row, w.first * n_phase, w.count * n_phase));
    });
    if (harmonic_ && !harmonic_->reduce()) return false;
    const bool weights_first = decoder_.is_weights_first();
    queue.parallel_for(inner_.size(), [&](int64_t i, int thread) {
        const int64_t row = inner_.begin + i;
        const Tile<T> to = weights_first ? dt_.row(row) : g_.row(row);
        if (harmonic_) harmonic_->row(row, to);
        if (resample_) resample_->row(row, thread, false, to);
        if (weights_first) decoder_.input_gradient(to, g_.row(row));
    });
    decoder_weights_back(sums);
    return true;
}

template <class T>
void TransformerGradient<T>::decoder_weights_back(GradientSums& sums) {
    const kernels::Queue& queue = this->frame_.queue;
    Field<T>& dy = this->dy_->field();
    if (!decoder_.is_weights_first()) {
        queue.parallel_for(fine_.size(), [&](int64_t i, int thread) {
            decoder_.add_weights(forward_.decoder_rows_, this->scratch_, fine_.begin + i, thread,
                                 dy, sums);
        });
        return;
    }
    queue.parallel_for(inner_.size(), [&](int64_t i, int thread) {
        const int64_t row = inner_.begin + i;
        decoder_.add_weights(decoder_rows_, forward_.x_.row(row), dt_.row(row), thread, sums);
    });
    queue.parallel_for(fine_.size(), [&](int64_t i, int thread) {
        decoder_.add_bias(dy.row(fine_.begin + i), thread, sums);
    });
}

/// g_ from the gradient behind a block to that in front.
template <class T>
bool TransformerGradient<T>::block_back(size_t i, GradientSums& sums) {
    auto& of = forward_.blocks_[i];
    Block& block = blocks_[i];
    Field<T>& before = forward_.borders_[i];
    copy_rows(this->frame_.queue, before, forward_.x_);
    forward_.add_attention(of);  // x_: between attention and MLP
    if (this->frame_.dropout->branch(path_site(config_, static_cast<int64_t>(i))) != 0) {
        feed_forward_back(i, sums);
        if (!block.norm1.back(forward_.x_, d_, g_, sums)) return false;
    }
    const NormalisedTiles<T> input(of.norm0, before, this->scratch_, norm_slot);
    block.attention.back(forward_.attention_, attention_, this->scratch_, input, g_, d_, sums);
    return block.norm0.back(before, d_, g_, sums);
}

/// d_ = gradient of what norm1 gave.
template <class T>
void TransformerGradient<T>::feed_forward_back(size_t i, GradientSums& sums) {
    const kernels::Queue& queue = this->frame_.queue;
    if (!config_.use_mlp) {
        const double factor =
            this->frame_.dropout->branch(path_site(config_, static_cast<int64_t>(i)));
        return for_rows(queue, g_, d_, [&](Tile<const T> g, Tile<T> d) { scale<T>(g, factor, d); });
    }
    queue.parallel_for(inner_.size(), [&](int64_t row, int thread) {
        mlp_row_back(i, inner_.begin + row, thread, sums);
    });
}

template <class T>
void TransformerGradient<T>::mlp_row_back(size_t i, int64_t row, int thread, GradientSums& sums) {
    const kernels::Queue& queue = this->frame_.queue;
    const Dropout& dropout = *this->frame_.dropout;
    const Block& block = blocks_[i];
    const auto& of = forward_.blocks_[i];
    const kernels::ResidualMlp<T> mlp{of.mlp, config_.activation, false, false};
    const kernels::LinearGradient gradients[] = {block.mlp[0].linear(sums, thread),
                                                 block.mlp[1].linear(sums, thread)};
    const auto number = static_cast<int64_t>(i);
    const double factor = dropout.branch(path_site(config_, number));
    const bool is_plain = factor == 1 && !dropout.drops(config_.drop_rate);
    const DropoutMlp<T> dropped = dropout_mlp(this->frame_, config_, mlp, number);
    const int64_t n = config_.n_channel(), n_lon = config_.inner.n_lon;
    for (int64_t first = 0; first < n_lon; first += tile_points) {
        const int64_t count = std::min(tile_points, n_lon - first);
        const auto scratch = [&](int slot, int64_t n_channel) {
            return this->scratch_.tile(thread, slot, n_channel, count);
        };
        const Tile<T> y = scratch(norm_slot, n), saved = scratch(saved_slot, mlp.n_saved());
        const Tile<T> dump = scratch(dump_slot, n), g = g_.tile(row, first, count);
        const Tile<T> hidden = scratch(hidden_slot, 2 * config_.n_hidden);
        const Tile<T> d = d_.tile(row, first, count);
        of.norm1.apply(forward_.x_.tile(row, first, count), y);
        if (is_plain) {
            kernels::residual_mlp_forward<T>(queue, mlp, y, saved, false, dump);
            kernels::residual_mlp_backward<T>(queue, mlp, y, saved, g, gradients, hidden, false, d);
        } else {
            dropped.save(DropoutRows::shared(), y, saved);
            scale<T>(g, factor, dump);
            dropped.backward(DropoutRows::shared(), y, saved, dump, gradients,
                             kernels::channels(hidden, 0, config_.n_hidden), d);
        }
    }
    for (const GradientPair& pair : block.mlp) pair.close(sums, thread);
}

/// Multiplies g_, the gradient of the first block's input, by the mask of the encoder's result.
template <class T>
void TransformerGradient<T>::drop_encoder_result() {
    const Dropout& dropout = *this->frame_.dropout;
    if (!dropout.drops(config_.drop_rate)) return;
    this->frame_.queue.parallel_for(inner_.size(), [&](int64_t i, int) {
        const int64_t row = inner_.begin + i;
        dropout.apply<T>(encoder_site(config_), rows_of(config_, {row, 0}), g_.row(row));
    });
}

/// Every element belongs to one row, so that rows of a thread may be one chunk.
template <class T>
void TransformerGradient<T>::embedding_back(GradientSums& sums) {
    if (!embedding_.exists() || !sums.is_wanted()) return;
    const kernels::Queue& queue = this->frame_.queue;
    const int64_t n = config_.n_channel(), n_lat = config_.inner.n_lat;
    const bool is_lat = config_.embedding == Embedding::learnable_lat;
    const int64_t width = is_lat ? 1 : config_.inner.n_lon;
    queue.parallel_for(inner_.size(), [&](int64_t i, int thread) {
        const int64_t row = inner_.begin + i;
        const Tile<T> g = g_.row(row);
        double* const to = embedding_.open(sums, thread);
        double* const sum = sums_.data() + thread * 2 * n;
        if (is_lat) kernels::channel_moments<T>(queue, g, sum, sum + n);
        for (int64_t c = 0; c < n; ++c) {
            for (int64_t j = 0; j < width; ++j)
                to[(c * n_lat + row) * width + j] += is_lat ? sum[c] : static_cast<double>(g(c, j));
        }
    });
    queue.parallel_for(queue.n_thread(), [&](int64_t thread, int) {
        embedding_.close(sums, static_cast<int>(thread));
    });
}

template <class T>
void TransformerGradient<T>::encoder_weights_back(GradientSums& sums) {
    this->frame_.queue.parallel_for(inner_.size(), [&](int64_t i, int thread) {
        encoder_.add_weights(forward_.encoder_rows_, this->scratch_, inner_.begin + i, thread, g_,
                             sums);
    });
}

template <class T>
void TransformerGradient<T>::input_back() {
    Field<T>& dx = this->dx();
    const int64_t n_phase = encoder_rows_.stencil.n_phase_out;
    encoder_rows_.tiles.run(this->frame_.queue, [&](const Work& w, int thread) {
        const int64_t first = w.first * n_phase, count = w.count * n_phase;
        const Tile<T> to = dx.tile(w.row, first, count);
        encoder_.ring_gradient(encoder_rows_, this->scratch_, w, thread, to);
        if (!config_.residual) return;
        const Tile<T> r = this->dy_->field().tile(w.row, first, count);
        for (int64_t c = 0; c < to.shape[0]; ++c) {
            for (int64_t j = 0; j < count; ++j) to(c, j) += r(c, j);
        }
    });
}

#define SURROGATE_TRANSFORMER_GRADIENT(T) \
    template bool TransformerGradient<T>::go_back(bool wants_inputs, GradientSums& sums);
SURROGATE_TRANSFORMER_GRADIENT(float)
SURROGATE_TRANSFORMER_GRADIENT(double)
#undef SURROGATE_TRANSFORMER_GRADIENT

}  // namespace surrogate::impl::sphere
