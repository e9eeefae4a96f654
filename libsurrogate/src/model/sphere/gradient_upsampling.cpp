// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/gradient_upsampling.hpp"

namespace surrogate::impl::sphere {

namespace {

/// Calls body(first, count) for the tiles of a row, from west to east.
template <class Body>
void for_tiles(int64_t n_column, const Body& body) {
    for (int64_t first = 0; first < n_column; first += tile_points)
        body(first, std::min(tile_points, n_column - first));
}

}  // namespace

template <class T>
UpsamplerGradient<T>::UpsamplerGradient(const Frame& frame, const Segformer& config,
                                        const Weights<T>& weights, size_t index,
                                        Upsampler<T>& forward, int64_t first_channel, int64_t n_all)
    : frame_(frame),
      forward_(forward),
      n_out_(config.n_out),
      n_(forward.mlp_.n_out),
      first_channel_(first_channel),
      n_all_(n_all),
      head_(weights.master(), "segmentation_head.weight") {
    const std::string name = "upsamplers." + std::to_string(index) + ".";
    mlp_ = GradientPair(weights.master(), name + "mlp.weight", name + "mlp.bias");
    const Range rows = forward.level_.bands().of(frame.rank());
    const Grid& grid = forward.level_.config().grid();
    if (forward.resample_) {
        part_ = Field<T>(rows, grid.n_lon, n_out_);
        resample_.emplace(frame, Resample{config.image, grid, {}, n_out_}, n_out_, rows);
        n_sum_ = n_out_ * n_;
    } else {
        part_ = Field<T>(rows, grid.n_lon, n_);
        convolution_.emplace(frame, *forward.convolution_, forward.config_);
        ConvolutionGradient<T>::prepare(frame, forward.config_, rows, rows_);
        ring_ = Field<T>(rows, grid.n_lon, convolution_->n_ring_channel());
        weight_slot_ = GradientSlot(weights.master(), name + "upsample.weight");
        weight_ = weights.at(name + "upsample.weight");
        n_entry_ = n_ * forward.config_.n_basis();
        n_sum_ = n_out_ * n_entry_;
    }
    sums_ = Buffer<double>(frame.queue.n_thread() * n_sum_);
}

template <class T>
void UpsamplerGradient<T>::require(Scratch<T>& scratch) const {
    scratch.require(0, n_);
    if (convolution_) ConvolutionGradient<T>::require(forward_.config_, scratch);
}

template <class T>
Range UpsamplerGradient<T>::out_rows() const {
    return resample_ ? resample_->out_rows() : rows_.dy_rows;
}

template <class T>
void UpsamplerGradient<T>::back(Scratch<T>& scratch, Field<T>& dy, Range fine, Field<T>& g,
                                GradientSums& sums) {
    if (resample_) {
        back_from_interpolation(scratch, dy, g, sums);
    } else {
        back_from_convolution(scratch, dy, fine, g, sums);
    }
}

template <class T>
void UpsamplerGradient<T>::back_from_interpolation(Scratch<T>& scratch, Field<T>& dy, Field<T>& g,
                                                   GradientSums& sums) {
    const kernels::Queue& queue = frame_.queue;
    const Range read = resample_->out_rows();
    queue.parallel_for(read.size(), [&](int64_t i, int) {
        copy<T>(dy.row(read.begin + i), resample_->slopes().row(read.begin + i));
    });
    Field<T>& x = forward_.level_.features();
    queue.parallel_for(part_.rows().size(), [&](int64_t i, int thread) {
        const int64_t row = part_.rows().begin + i;
        resample_->row(row, thread, false, part_.row(row));
        double* const head = sums_of(thread);
        std::fill_n(head, n_sum_, 0.0);
        for_tiles(x.n_column(), [&](int64_t first, int64_t count) {
            const Tile<T> in = x.tile(row, first, count), part = part_.tile(row, first, count);
            const Tile<T> mixed = scratch.tile(thread, 0, n_, count);
            kernels::linear<T>(queue, forward_.mlp_, in, {}, mixed);
            kernels::linear_gradient<T>(queue, mixed, part,
                                        {sums.is_wanted() ? head : nullptr, nullptr});
            kernels::linear_backward<T>(queue, forward_.head_, part, {}, false, mixed);
            kernels::linear_gradient<T>(queue, in, mixed, mlp_.linear(sums, thread));
            kernels::linear_backward<T>(queue, forward_.mlp_, mixed, {}, false,
                                        g.tile(row, first, count));
        });
        mlp_.close(sums, thread);
        add_head(head, thread, sums);
    });
}

/// own (n_out, n): this level's columns of the head.
template <class T>
void UpsamplerGradient<T>::add_head(const double* own, int thread, GradientSums& sums) const {
    double* const head = head_.open(sums, thread);
    if (!head) return;
    for (int64_t o = 0; o < n_out_; ++o) {
        for (int64_t c = 0; c < n_; ++c) head[o * n_all_ + first_channel_ + c] += own[o * n_ + c];
    }
    head_.close(sums, thread);
}

template <class T>
void UpsamplerGradient<T>::back_from_convolution(Scratch<T>& scratch, Field<T>& dy, Range fine,
                                                 Field<T>& g, GradientSums& sums) {
    const kernels::Queue& queue = frame_.queue;
    const bool weights_first = convolution_->is_weights_first();
    convolution_->load(rows_, dy);
    const int64_t p = rows_.stencil.n_phase_out;
    rows_.tiles.run(queue, [&](const Work& w, int thread) {
        convolution_->ring_gradient(rows_, scratch, w, thread,
                                    ring_.tile(w.row, w.first * p, w.count * p));
    });
    Field<T>& x = forward_.level_.features();
    queue.parallel_for(part_.rows().size(), [&](int64_t i, int thread) {
        const int64_t row = part_.rows().begin + i;
        convolution_->input_gradient(ring_.row(row), part_.row(row));
        if (weights_first && sums.is_wanted()) {
            double* const folded = sums_of(thread);
            std::fill_n(folded, n_sum_, 0.0);
            convolution_->sum_weights(rows_, forward_.part_.row(row), ring_.row(row), thread,
                                      folded);
            unfold(folded, thread, sums);
        }
        for_tiles(x.n_column(), [&](int64_t first, int64_t count) {
            const Tile<T> part = part_.tile(row, first, count);
            kernels::linear_gradient<T>(queue, x.tile(row, first, count), part,
                                        mlp_.linear(sums, thread));
            kernels::linear_backward<T>(queue, forward_.mlp_, part, {}, false,
                                        g.tile(row, first, count));
        });
        mlp_.close(sums, thread);
    });
    if (weights_first || !sums.is_wanted()) return;
    queue.parallel_for(fine.size(), [&](int64_t i, int thread) {
        double* const folded = sums_of(thread);
        std::fill_n(folded, n_sum_, 0.0);
        convolution_->sum_weights(forward_.rows_, scratch, fine.begin + i, thread, dy,
                                  {folded, nullptr});
        unfold(folded, thread, sums);
    });
}

/// Definition of the folded weights: folded(o, e) = sum_u head(o, u) weight(u, e).
template <class T>
void UpsamplerGradient<T>::unfold(const double* folded, int thread, GradientSums& sums) const {
    double* const head = head_.open(sums, thread);
    double* const weight = weight_slot_.open(sums, thread);
    for (int64_t o = 0; o < n_out_; ++o) {
        const double* const slope = folded + o * n_entry_;
        for (int64_t u = 0; u < n_; ++u) {
            const auto factor = static_cast<double>(forward_.head_weight_.data()[o * n_ + u]);
            double sum = 0;
            for (int64_t e = 0; e < n_entry_; ++e) {
                sum += slope[e] * static_cast<double>(weight_[u * n_entry_ + e]);
                weight[u * n_entry_ + e] += factor * slope[e];
            }
            head[o * n_all_ + first_channel_ + u] += sum;
        }
    }
    head_.close(sums, thread);
    weight_slot_.close(sums, thread);
}

template <class T>
void UpsamplerGradient<T>::add_costs_to(std::vector<LayerCost>& list,
                                        const std::string& name) const {
    if (convolution_) list.push_back(convolution_->cost(name + " backward", rows_));
}

template <class T>
int64_t UpsamplerGradient<T>::bytes() const {
    return part_.bytes() + ring_.bytes() + sums_.bytes() + rows_.bytes() +
           (resample_ ? resample_->bytes() : 0);
}

template class UpsamplerGradient<float>;
template class UpsamplerGradient<double>;

}  // namespace surrogate::impl::sphere
