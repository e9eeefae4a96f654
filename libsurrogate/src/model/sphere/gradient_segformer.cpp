// SPDX-License-Identifier: Apache-2.0
// Backward of the Spherical SegFormer: upsampling of every level, then levels from the last to the
// first.
#include "kernels/norm/moments.hpp"
#include "libsurrogate/src/model/sphere/gradient_level.hpp"
#include "libsurrogate/src/model/sphere/gradient_program.hpp"
#include "libsurrogate/src/model/sphere/resample_gradient.hpp"

namespace surrogate::impl::sphere {

namespace {

template <class T>
std::unique_ptr<SegformerProgram<T>> forward_of(const ProgramRequest& request,
                                                const Segformer& config,
                                                const Weights<T>& weights) {
    const auto refuse = [](const std::string& what) {
        throw Error(Status::not_supported, "a SegFormer " + what + " cannot be trained yet");
    };
    if (config.upsamples_by_convolution) refuse("with upsampling_method = conv");
    for (const SegformerLevel& level : config.levels) {
        if (level.depth == 0) refuse("with a level of depth 0");
        if (ConvolutionLayer<T>::is_weights_first(level.mix))
            refuse("of one channel in a level (its mixing applies weights before geometry)");
    }
    if (ConvolutionLayer<T>::is_weights_first(config.levels[0].merge))
        refuse("with more input channels than embedding channels");
    return std::make_unique<SegformerProgram<T>>(request, config, weights);
}

}  // namespace

template <class T>
class SegformerGradient final : public GridGradient<T> {
public:
    SegformerGradient(const ProgramRequest& request, const Segformer& config,
                      const Weights<T>& weights);

protected:
    void connect_layers() override {
        for (LevelGradient<T>& level : levels_) level.connect();
    }
    bool go_back(bool wants_inputs, GradientSums& sums) override;
    int64_t layer_bytes() const override;
    void add_layer_costs(std::vector<LayerCost>& list) const override {
        for (size_t i = levels_.size(); i-- > 0;)
            levels_[i].add_costs_to(list, "blocks." + std::to_string(i));
    }

private:
    /// Of a level: its place in the head, and interpolation the other way.
    struct Up {
        int64_t first_channel = 0;
        GradientPair mlp;
        ResampleGradient<T> resample;
        Field<T> part;
    };
    void up_back(size_t i, GradientSums& sums);

    SegformerProgram<T>& forward_;
    std::deque<LevelGradient<T>> levels_;
    std::deque<Up> ups_;
    GradientSlot head_, head_bias_;
    int64_t n_out_ = 0, n_all_ = 0;
    Buffer<double> sums_;  // (thread, n_out, channels of a level): of the head
};

template <class T>
SegformerGradient<T>::SegformerGradient(const ProgramRequest& request, const Segformer& config,
                                        const Weights<T>& weights)
    : GridGradient<T>(forward_of(request, config, weights)),
      forward_(static_cast<SegformerProgram<T>&>(*this->program_)),
      head_(weights.master(), "segmentation_head.weight"),
      head_bias_(weights.master(), "segmentation_head.bias"),
      n_out_(config.n_out) {
    const int rank = this->frame_.rank();
    const Range fine = forward_.fine_.of(rank);
    Range wanted = fine;
    int64_t most = 1;
    for (size_t i = 0; i < config.levels.size(); ++i) {
        Level<T>& level = forward_.levels_[i];
        const Range above = i == 0 ? fine : forward_.levels_[i - 1].bands().of(rank);
        levels_.emplace_back(this->frame_, level, weights.master(), i, above);
        levels_.back().require(this->scratch_);
        const Range rows = level.bands().of(rank);
        const Grid& grid = level.config().grid();
        const std::string name = "upsamplers." + std::to_string(i) + ".mlp";
        ups_.push_back({n_all_,
                        {weights.master(), name + ".weight", name + ".bias"},
                        {this->frame_, Resample{config.image, grid, {}, n_out_}, n_out_, rows},
                        {rows, grid.n_lon, n_out_}});
        wanted = hull(wanted, ups_.back().resample.out_rows());
        n_all_ += level.config().n_channel();
        most = std::max(most, level.config().n_channel());
        this->scratch_.require(0, std::max(level.config().n_channel(), level.config().merge.n_in));
    }
    this->scratch_.allocate(this->frame_.queue.n_thread());
    sums_ = Buffer<double>(this->frame_.queue.n_thread() * n_out_ * most);
    this->set_stages(weights.master(), std::ssize(config.levels), "");
    this->set_ports(request, n_out_, wanted, config.levels[0].merge.n_in, forward_.fine_);
}

template <class T>
bool SegformerGradient<T>::go_back(bool wants_inputs, GradientSums& sums) {
    Field<T>& dy = this->dy_->field();
    const Range fine = forward_.fine_.of(this->frame_.rank());
    this->frame_.queue.parallel_for(fine.size(), [&](int64_t i, int thread) {
        double* const to = head_bias_.open(sums, thread);
        for (int64_t o = 0; o < n_out_; ++o) {
            double sum = 0, square = 0;
            kernels::channel_moments<T>(
                this->frame_.queue, kernels::channels(dy.row(fine.begin + i), o, 1), &sum, &square);
            to[o] += sum;
        }
        head_bias_.close(sums, thread);
    });
    for (size_t i = 0; i < ups_.size(); ++i) up_back(i, sums);
    for (size_t i = levels_.size(); i-- > 0;) {
        sums.finish_stage();
        // What the level above reads of its features is left by forward until its own back().
        levels_[i].back(this->scratch_, sums);
        if (i > 0) {
            levels_[i].merge_back(this->scratch_, &forward_.levels_[i - 1].features(), true,
                                  levels_[i - 1].slopes(), sums);
        } else if (wants_inputs) {
            levels_[i].merge_back(this->scratch_, nullptr, false, this->dx_->field(), sums);
        }
    }
    return true;
}

/// The gradient of a level's features, from the output through interpolation and 1x1 layers.
template <class T>
void SegformerGradient<T>::up_back(size_t i, GradientSums& sums) {
    const kernels::Queue& queue = this->frame_.queue;
    Up& up = ups_[i];
    const auto& of = forward_.upsamplers_[i];
    Field<T>&x = forward_.levels_[i].features(), &g = levels_[i].slopes();
    Field<T>& dy = this->dy_->field();
    const Range read = up.resample.out_rows();
    queue.parallel_for(read.size(), [&](int64_t k, int) {
        copy<T>(dy.row(read.begin + k), up.resample.slopes().row(read.begin + k));
    });
    const int64_t n = of.mlp_.n_out, n_lon = x.n_column();
    queue.parallel_for(x.rows().size(), [&](int64_t k, int thread) {
        const int64_t row = x.rows().begin + k;
        up.resample.row(row, thread, false, up.part.row(row));
        double* const reordered = sums_.data() + thread * (sums_.size() / queue.n_thread());
        std::fill_n(reordered, n_out_ * n, 0.0);
        for (int64_t first = 0; first < n_lon; first += tile_points) {
            const int64_t count = std::min(tile_points, n_lon - first);
            const Tile<T> in = x.tile(row, first, count), part = up.part.tile(row, first, count);
            const Tile<T> mixed = this->scratch_.tile(thread, 0, n, count);
            kernels::linear<T>(queue, of.mlp_, in, {}, mixed);
            kernels::linear_gradient<T>(queue, mixed, part, {reordered, nullptr});
            kernels::linear_backward<T>(queue, of.head_, part, {}, false, mixed);
            kernels::linear_gradient<T>(queue, in, mixed, up.mlp.linear(sums, thread));
            kernels::linear_backward<T>(queue, of.mlp_, mixed, {}, false,
                                        g.tile(row, first, count));
        }
        up.mlp.close(sums, thread);
        double* const head = head_.open(sums, thread);
        for (int64_t o = 0; o < n_out_; ++o) {
            for (int64_t c = 0; c < n; ++c)
                head[o * n_all_ + up.first_channel + c] += reordered[o * n + c];
        }
        head_.close(sums, thread);
    });
}

template <class T>
int64_t SegformerGradient<T>::layer_bytes() const {
    int64_t n = sums_.bytes();
    for (const LevelGradient<T>& level : levels_) n += level.bytes();
    for (const Up& up : ups_) n += up.resample.bytes() + up.part.bytes();
    return n;
}

template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const ProgramRequest& request,
                                                       const Segformer& config,
                                                       const Weights<T>& weights) {
    return std::make_unique<SegformerGradient<T>>(request, config, weights);
}

template std::unique_ptr<GradientProgram> make_gradient_program(const ProgramRequest&,
                                                                const Segformer&,
                                                                const Weights<float>&);
template std::unique_ptr<GradientProgram> make_gradient_program(const ProgramRequest&,
                                                                const Segformer&,
                                                                const Weights<double>&);

}  // namespace surrogate::impl::sphere
