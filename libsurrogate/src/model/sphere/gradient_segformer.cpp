// SPDX-License-Identifier: Apache-2.0
// Backward of the Spherical SegFormer: upsampling of every level, then levels from the last to the
// first.
#include "kernels/norm/moments.hpp"
#include "libsurrogate/src/model/sphere/gradient_level.hpp"
#include "libsurrogate/src/model/sphere/gradient_program.hpp"
#include "libsurrogate/src/model/sphere/gradient_upsampling.hpp"

namespace surrogate::impl::sphere {

namespace {

template <class T>
std::unique_ptr<SegformerProgram<T>> forward_of(const ProgramRequest& request,
                                                const Segformer& config,
                                                const Weights<T>& weights) {
    const auto refuse = [](const std::string& what) {
        throw Error(Status::not_supported, "a SegFormer " + what + " cannot be trained yet");
    };
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
        for (size_t i = 0; i < ups_.size(); ++i)
            ups_[i].add_costs_to(list, "upsamplers." + std::to_string(i));
        for (size_t i = levels_.size(); i-- > 0;)
            levels_[i].add_costs_to(list, "blocks." + std::to_string(i));
    }

private:
    SegformerProgram<T>& forward_;
    std::deque<LevelGradient<T>> levels_;
    std::deque<UpsamplerGradient<T>> ups_;
    GradientSlot head_bias_;
    int64_t n_out_ = 0;
};

template <class T>
SegformerGradient<T>::SegformerGradient(const ProgramRequest& request, const Segformer& config,
                                        const Weights<T>& weights)
    : GridGradient<T>(forward_of(request, config, weights)),
      forward_(static_cast<SegformerProgram<T>&>(*this->program_)),
      head_bias_(weights.master(), "segmentation_head.bias"),
      n_out_(config.n_out) {
    const int rank = this->frame_.rank();
    const Range fine = forward_.fine_.of(rank);
    Range wanted = fine;
    int64_t n_all = 0, first_channel = 0;
    for (const SegformerLevel& level : config.levels) n_all += level.n_channel();
    for (size_t i = 0; i < config.levels.size(); ++i) {
        Level<T>& level = forward_.levels_[i];
        const Range above = i == 0 ? fine : forward_.levels_[i - 1].bands().of(rank);
        levels_.emplace_back(this->frame_, level, weights.master(), i, above);
        levels_.back().require(this->scratch_);
        ups_.emplace_back(this->frame_, config, weights, i, forward_.upsamplers_[i], first_channel,
                          n_all);
        ups_.back().require(this->scratch_);
        wanted = hull(wanted, ups_.back().out_rows());
        first_channel += level.config().n_channel();
        this->scratch_.require(0, std::max(level.config().n_channel(), level.config().merge.n_in));
    }
    this->scratch_.allocate(this->frame_.queue.n_thread());
    this->set_stages(weights.master(), std::ssize(config.levels), "");
    this->set_ports(request, n_out_, wanted, config.levels[0].merge.n_in, forward_.fine_);
}

template <class T>
bool SegformerGradient<T>::go_back(bool wants_inputs, GradientSums& sums) {
    Field<T>& dy = this->dy_->field();
    const Range fine = forward_.fine_.of(this->frame_.rank());
    this->frame_.queue.parallel_for(fine.size(), [&](int64_t i, int thread) {
        double* const to = head_bias_.open(sums, thread);
        if (!to) return;
        for (int64_t o = 0; o < n_out_; ++o) {
            double sum = 0, square = 0;
            kernels::channel_moments<T>(
                this->frame_.queue, kernels::channels(dy.row(fine.begin + i), o, 1), &sum, &square);
            to[o] += sum;
        }
        head_bias_.close(sums, thread);
    });
    for (size_t i = 0; i < ups_.size(); ++i)
        ups_[i].back(this->scratch_, dy, fine, levels_[i].slopes(), sums);
    for (size_t i = levels_.size(); i-- > 0;) {
        sums.finish_stage();
        // The forward pass keeps the features that the level above reads until its own back().
        levels_[i].back(this->scratch_, sums);
        if (i > 0) {
            levels_[i].merge_back(this->scratch_, &forward_.levels_[i - 1].features(), true,
                                  levels_[i - 1].slopes(), sums);
        } else if (wants_inputs) {
            levels_[i].merge_back(this->scratch_, nullptr, false, this->dx(), sums);
        }
    }
    return true;
}

template <class T>
int64_t SegformerGradient<T>::layer_bytes() const {
    int64_t n = 0;
    for (const LevelGradient<T>& level : levels_) n += level.bytes();
    for (const UpsamplerGradient<T>& up : ups_) n += up.bytes();
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
