// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/gradient_level.hpp"

namespace surrogate::impl::sphere {

namespace {

/// A layer norm of a field.
template <class T>
class LayerNormTiles final : public TileSource<T> {
public:
    LayerNormTiles(const kernels::Queue& queue, const kernels::Norm<T>& norm, Field<T>& x,
                   Scratch<T>& scratch, int slot)
        : queue_(queue), norm_(norm), x_(x), scratch_(scratch), slot_(slot) {}
    Tile<const T> tile(const Work& w, int thread) const override {
        const Tile<T> y = scratch_.tile(thread, slot_, x_.n_channel(), w.count);
        kernels::normalise<T>(queue_, norm_, x_.tile(w.row, w.first, w.count), y);
        return y;
    }

private:
    const kernels::Queue& queue_;
    const kernels::Norm<T>& norm_;
    Field<T>& x_;
    Scratch<T>& scratch_;
    int slot_;
};

}  // namespace

template <class T>
LevelGradient<T>::LevelGradient(const Frame& frame, Level<T>& level, const MasterWeights& master,
                                size_t index, Range above)
    : frame_(frame),
      level_(level),
      config_(level.config()),
      merge_(frame, level.merge_, config_.merge, master, Level<T>::prefix(index) + "fwd.0.conv.") {
    const auto norm = [&](const std::string& name) {
        return GradientPair(master, name + ".weight", name + ".bias");
    };
    const std::string prefix = Level<T>::prefix(index);
    merge_norm_ = norm(prefix + "fwd.0.norm");
    norm_ = norm(prefix + "norm");
    const Range rows = level.bands().of(frame.rank());
    const int64_t n_lon = config_.grid().n_lon, n = config_.n_channel();
    for (size_t j = 0; j < level.repetitions_.size(); ++j) {
        auto& of = level.repetitions_[j];
        const std::string attention = prefix + "fwd." + std::to_string(1 + 2 * j) + ".";
        const std::string feed = prefix + "fwd." + std::to_string(2 + 2 * j) + ".";
        repetitions_.push_back(
            {{frame, of.attention, config_.attention, master, attention + "att."},
             norm(attention + "norm"),
             norm(feed + "norm"),
             norm(feed + "mlp_in"),
             norm(feed + "mlp_out"),
             {frame, of.mix, config_.mix, master, feed + "conv."}});
        level.borders_.emplace_back(rows, n_lon, n);
    }
    for (Field<T>* field : {&level.merged_, &level.last_, &g_, &d_, &u_})
        *field = Field<T>(rows, n_lon, n);
    AttentionGradient<T>::prepare(frame, config_.attention, rows, level.attention_, attention_);
    ConvolutionGradient<T>::prepare(frame, config_.mix, rows, mix_rows_);
    ConvolutionGradient<T>::prepare(frame, config_.merge, above, merge_rows_);
    ring_ = Field<T>(above, config_.merge.in.n_lon, merge_.n_ring_channel());
}

template <class T>
void LevelGradient<T>::connect() {
    AttentionGradient<T>::connect(frame_, config_.attention, level_.bands(), attention_);
    ConvolutionGradient<T>::connect(frame_, config_.mix, level_.bands(), mix_rows_);
    ConvolutionGradient<T>::connect(frame_, config_.merge, level_.bands(), merge_rows_);
}

template <class T>
void LevelGradient<T>::require(Scratch<T>& scratch) const {
    scratch.require(norm_slot, config_.n_channel());
    scratch.require(slope_slot, config_.n_channel());
    AttentionGradient<T>::require(config_.attention, scratch);
    ConvolutionGradient<T>::require(config_.merge, scratch);
    ConvolutionGradient<T>::require(config_.mix, scratch);
}

/// g_ = [g_ +] the norm's gradient at x of dy, which may be g_; a chunk a row.
template <class T>
void LevelGradient<T>::norm_back(const kernels::Norm<T>& norm, const GradientPair& slots,
                                 Field<T>& x, Field<T>& dy, bool adds, GradientSums& sums) {
    frame_.queue.parallel_for(g_.rows().size(), [&](int64_t i, int thread) {
        const int64_t row = g_.rows().begin + i;
        const Tile<T> to = g_.row(row);
        kernels::normalise_backward<T>(frame_.queue, norm, x.row(row), dy.row(row),
                                       adds ? to : Tile<T>{}, to, slots.norm(sums, thread));
        slots.close(sums, thread);
    });
}

template <class T>
void LevelGradient<T>::back(Scratch<T>& scratch, GradientSums& sums) {
    norm_back(level_.norm_, norm_, level_.last_, g_, false, sums);
    for (size_t j = repetitions_.size(); j-- > 0;) repetition_back(j, scratch, sums);
    norm_back(level_.merge_norm_, merge_norm_, level_.merged_, g_, false, sums);
    if (is_weights_first()) return;
    frame_.queue.parallel_for(g_.rows().size(), [&](int64_t i, int thread) {
        merge_.add_weights(level_.merge_rows_, scratch, g_.rows().begin + i, thread, g_, sums);
    });
}

template <class T>
void LevelGradient<T>::repetition_back(size_t j, Scratch<T>& scratch, GradientSums& sums) {
    copy_rows(frame_.queue, level_.borders_[j], level_.x_);
    level_.attend(j, scratch);  // x_: between attention and feed-forward
    if (level_.path(j, false) != 0) feed_forward_back(j, scratch, sums);
    if (level_.path(j, true) != 0) attention_back(j, scratch, sums);
}

template <class T>
void LevelGradient<T>::feed_forward_back(size_t j, Scratch<T>& scratch, GradientSums& sums) {
    auto& of = level_.repetitions_[j];
    level_.fill_hidden(of, scratch);  // rings of the mixing convolution
    activation_back(j, scratch, sums);
    mix_back(j, scratch, sums);
    norm_back(of.mix_norm, repetitions_[j].mix_norm, level_.x_, u_, true, sums);
}

template <class T>
void LevelGradient<T>::attention_back(size_t j, Scratch<T>& scratch, GradientSums& sums) {
    auto& of = level_.repetitions_[j];
    Back& back = repetitions_[j];
    const double factor = level_.path(j, true);
    if (factor != 1) {
        for_rows(frame_.queue, g_, u_, [&](Tile<const T> g, Tile<T> u) { scale<T>(g, factor, u); });
    }
    const LayerNormTiles<T> input(frame_.queue, of.attention_norm, level_.borders_[j], scratch,
                                  norm_slot);
    back.attention.back(level_.attention_, attention_, scratch, input, factor == 1 ? g_ : u_, d_,
                        sums);
    norm_back(of.attention_norm, back.attention_norm, level_.borders_[j], d_, true, sums);
}

/// u_ = gradient of what the mixing convolution gave.
template <class T>
void LevelGradient<T>::activation_back(size_t j, Scratch<T>& scratch, GradientSums& sums) {
    const kernels::Queue& queue = frame_.queue;
    const auto& of = level_.repetitions_[j];
    const Back& back = repetitions_[j];
    const int64_t n = config_.n_channel();
    const double factor = level_.path(j, false);
    queue.parallel_for(g_.rows().size(), [&](int64_t i, int thread) {
        const int64_t row = g_.rows().begin + i;
        for_tiles(row, config_.grid().n_lon, [&](const Work& w) {
            const Tile<T> u = u_.tile(row, w.first, w.count);
            Tile<T> g = g_.tile(row, w.first, w.count);
            const Tile<T> a = scratch.tile(thread, norm_slot, n, w.count);
            const Tile<T> da = scratch.tile(thread, slope_slot, n, w.count);
            of.mix.convolve(level_.mix_rows_, scratch, w, thread, u);
            kernels::activate<T>(queue, level_.activation_, u, a);
            if (factor != 1) {
                const Tile<T> branch = scratch.tile(thread, branch_slot, n, w.count);
                scale<T>(g, factor, branch);
                g = branch;
            }
            kernels::linear_gradient<T>(queue, a, g, back.mlp_out.linear(sums, thread));
            kernels::linear_backward<T>(queue, of.mlp_out, g, {}, false, da);
            kernels::activate_backward<T>(queue, level_.activation_, u, da, u);
        });
        back.mlp_out.close(sums, thread);
    });
}

/// From u_ to the gradient of what the norm gave, in u_.
template <class T>
void LevelGradient<T>::mix_back(size_t j, Scratch<T>& scratch, GradientSums& sums) {
    const kernels::Queue& queue = frame_.queue;
    const auto& of = level_.repetitions_[j];
    const Back& back = repetitions_[j];
    queue.parallel_for(g_.rows().size(), [&](int64_t i, int thread) {
        back.mix.add_weights(level_.mix_rows_, scratch, g_.rows().begin + i, thread, u_, sums);
    });
    back.mix.exchange(mix_rows_, u_);
    mix_rows_.tiles.run(queue, [&](const Work& w, int thread) {
        back.mix.ring_gradient(mix_rows_, scratch, w, thread, d_.tile(w.row, w.first, w.count));
    });
    const LayerNormTiles<T> input(queue, of.mix_norm, level_.x_, scratch, norm_slot);
    queue.parallel_for(g_.rows().size(), [&](int64_t i, int thread) {
        const int64_t row = g_.rows().begin + i;
        for_tiles(row, config_.grid().n_lon, [&](const Work& w) {
            const Tile<T> slope = d_.tile(row, w.first, w.count);
            kernels::linear_gradient<T>(queue, input.tile(w, thread), slope,
                                        back.mlp_in.linear(sums, thread));
            kernels::linear_backward<T>(queue, of.mlp_in, slope, {}, false,
                                        u_.tile(row, w.first, w.count));
        });
        back.mlp_in.close(sums, thread);
    });
}

template <class T>
void LevelGradient<T>::merge_back(Scratch<T>& scratch, Field<T>* features, bool accumulate,
                                  Field<T>& to, GradientSums& sums) {
    merge_.exchange(merge_rows_, g_);
    const int64_t p = merge_rows_.stencil.n_phase_out;
    merge_rows_.tiles.run(frame_.queue, [&](const Work& w, int thread) {
        merge_.ring_gradient(merge_rows_, scratch, w, thread,
                             ring_.tile(w.row, w.first * p, w.count * p));
    });
    frame_.queue.parallel_for(ring_.rows().size(), [&](int64_t i, int thread) {
        const int64_t row = ring_.rows().begin + i;
        const Tile<T> ring = ring_.row(row), dx = to.row(row);
        if (is_weights_first() && features)
            merge_.add_weights(merge_rows_, features->row(row), ring, thread, sums);
        for_tiles(row, config_.merge.in.n_lon, [&](const Work& w) {
            const Tile<T> part = scratch.tile(thread, norm_slot, config_.merge.n_in, w.count);
            merge_.input_gradient(kernels::points(ring, w.first, w.count), part);
            for (int64_t c = 0; c < dx.shape[0]; ++c) {
                for (int64_t k = 0; k < w.count; ++k)
                    dx(c, w.first + k) = accumulate ? dx(c, w.first + k) + part(c, k) : part(c, k);
            }
        });
    });
}

template <class T>
int64_t LevelGradient<T>::bytes() const {
    int64_t n = merge_rows_.bytes() + mix_rows_.bytes() + attention_.bytes() + ring_.bytes() +
                g_.bytes() + d_.bytes() + u_.bytes() + level_.merged_.bytes() +
                level_.last_.bytes();
    for (const Field<T>& border : level_.borders_) n += border.bytes();
    return n;
}

template <class T>
void LevelGradient<T>::add_costs_to(std::vector<LayerCost>& list, const std::string& name) const {
    for (size_t j = repetitions_.size(); j-- > 0;) {
        const std::string repetition = name + "." + std::to_string(j);
        const auto& of = level_.repetitions_[j];
        of.attention.add_costs_to(list, repetition + " attention again", level_.attention_);
        list.push_back(of.mix.cost(repetition + " feed-forward again", level_.mix_rows_));
        list.push_back(repetitions_[j].mix.cost(repetition + " feed-forward backward", mix_rows_));
        list.push_back(
            repetitions_[j].attention.cost(repetition + " attention backward", attention_));
    }
    list.push_back(merge_.cost(name + " merge backward", merge_rows_));
}

template class LevelGradient<float>;
template class LevelGradient<double>;

}  // namespace surrogate::impl::sphere
