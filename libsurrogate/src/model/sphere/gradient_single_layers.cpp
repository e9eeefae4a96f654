// SPDX-License-Identifier: Apache-2.0
// Backward pass of single layers. Gradients of the output are sent from the solver directly to the
// ranks that read them.
#include "libsurrogate/src/model/sphere/attention_gradient.hpp"
#include "libsurrogate/src/model/sphere/convolution_gradient.hpp"
#include "libsurrogate/src/model/sphere/gradient_program.hpp"
#include "libsurrogate/src/model/sphere/resample_gradient.hpp"
#include "libsurrogate/src/model/sphere/single_layers.hpp"

namespace surrogate::impl::sphere {

namespace {

/// Returns the partition of the rows of the input's gradient. Local, the same on all ranks.
Bands input_bands(const Frame& frame, const ProgramRequest& request, const Grid& grid,
                  int64_t n_channel, std::vector<std::string>& notes) {
    return choose_bands(frame, request.input, row_costs(grid, grid, 0, {1.0, 0}), n_channel, notes);
}

}  // namespace

// ---- attention ----

/// Returns the partition of the rows of key and value gradients between two grids, and a note.
/// Local, the same on all ranks.
Bands key_bands(const Frame& frame, const ProgramRequest& request, const Attention& config,
                std::vector<std::string>& notes) {
    RowWork work = attention_work(config);
    if (config.is_global) work.pair_flops = 0;
    return choose_bands(frame, request.input,
                        row_costs(config.in, config.out, config.theta_cutoff, work),
                        2 * config.n_in, notes);
}

template <class T>
class AttentionBack final : public GridGradient<T> {
public:
    AttentionBack(const ProgramRequest& request, const Attention& config, const Weights<T>& weights)
        : GridGradient<T>(forward_of(request, config, weights)),
          config_(config),
          forward_(static_cast<AttentionProgram<T>&>(*this->program_)),
          layer_(this->frame_, forward_.layer_, config, weights.master(), "") {
        const Range rows = forward_.bands_.of(this->frame_.rank());
        const Bands bands = forward_.is_self_
                                ? forward_.bands_
                                : key_bands(this->frame_, request, config, forward_.notes_);
        AttentionGradient<T>::prepare(this->frame_, config, bands.of(this->frame_.rank()),
                                      forward_.ws_, ws_);
        AttentionGradient<T>::require(config, this->scratch_);
        this->scratch_.allocate(this->frame_.queue.n_thread());
        this->set_output(request, config.n_value, rows);
        if (!forward_.is_self_) {
            this->add_input(request.output, config.n_in, forward_.bands_);
            this->add_input(request.input, config.n_in, bands);
        }
        this->add_input(request.input, config.n_in, bands);
    }

protected:
    void connect_layers() override {
        AttentionGradient<T>::connect(this->frame_, config_, forward_.bands_, ws_);
    }
    bool go_back(bool, GradientSums& sums) override {
        Field<T>& dy = this->dy_->field();
        const Inputs first(forward_.inputs_.front()->field());
        if (forward_.is_self_) {
            layer_.back(forward_.ws_, ws_, this->scratch_, first, dy, this->dx(), sums);
            return true;
        }
        const Inputs key(forward_.inputs_[1]->field()), value(forward_.inputs_[2]->field());
        const typename AttentionGradient<T>::Sides sides{first,       key,         value,
                                                         this->dx(0), this->dx(1), this->dx(2)};
        layer_.back(forward_.ws_, ws_, this->scratch_, sides, dy, sums);
        return true;
    }
    int64_t layer_bytes() const override { return ws_.bytes(); }
    void add_layer_costs(std::vector<LayerCost>& list) const override {
        list.push_back(layer_.cost("attention backward", ws_));
    }

private:
    class Inputs final : public TileSource<T> {
    public:
        explicit Inputs(Field<T>& x) : x_(x) {}
        Tile<const T> tile(const Work& w, int) const override {
            return x_.tile(w.row, w.first, w.count);
        }

    private:
        Field<T>& x_;
    };

    /// Backward between two grids reads the rows of keys whose gradients it computes.
    static std::unique_ptr<AttentionProgram<T>> forward_of(const ProgramRequest& request,
                                                           const Attention& config,
                                                           const Weights<T>& weights) {
        Range also{0, 0};
        if (!(config.in == config.out)) {
            const Frame frame{request.output.context().comm(), request.queue, request.reproducible};
            std::vector<std::string> unread;
            also = key_bands(frame, request, config, unread).of(frame.rank());
        }
        return std::make_unique<AttentionProgram<T>>(request, config, weights, also);
    }

    const Attention config_;
    AttentionProgram<T>& forward_;
    AttentionGradient<T> layer_;
    typename AttentionGradient<T>::Workspace ws_;
};

// ---- convolution ----

template <class T>
class ConvolutionBack final : public GridGradient<T> {
public:
    ConvolutionBack(const ProgramRequest& request, const Convolution& config,
                    const Weights<T>& weights)
        : GridGradient<T>(forward_of(request, config, weights)),
          config_(config),
          forward_(static_cast<ConvolutionProgram<T>&>(*this->program_)),
          layer_(this->frame_, forward_.layer_, config, weights.master(), "") {
        const Bands bands =
            input_bands(this->frame_, request, config.in, config.n_in, forward_.notes_);
        in_rows_ = bands.of(this->frame_.rank());
        out_rows_ = forward_.bands_.of(this->frame_.rank());
        ConvolutionGradient<T>::prepare(this->frame_, config, in_rows_, ws_);
        ConvolutionGradient<T>::require(config, this->scratch_);
        this->scratch_.allocate(this->frame_.queue.n_thread());
        ring_ = Field<T>(in_rows_, config.in.n_lon, layer_.n_ring_channel());
        this->set_ports(request, config.n_out, hull(ws_.dy_rows, out_rows_), config.n_in, bands);
    }

protected:
    void connect_layers() override {}
    bool go_back(bool wants_inputs, GradientSums& sums) override {
        const bool weights_first = layer_.is_weights_first();
        if (wants_inputs || weights_first) rings_back();
        this->frame_.queue.parallel_for(in_rows_.size(), [&](int64_t i, int thread) {
            const int64_t row = in_rows_.begin + i;
            if (weights_first) {
                layer_.add_weights(ws_, forward_.inputs_.front()->field().row(row), ring_.row(row),
                                   thread, sums);
            }
            if (wants_inputs) layer_.input_gradient(ring_.row(row), this->dx().row(row));
        });
        Field<T>& dy = this->dy_->field();
        this->frame_.queue.parallel_for(out_rows_.size(), [&](int64_t i, int thread) {
            const int64_t row = out_rows_.begin + i;
            if (weights_first) {
                layer_.add_bias(dy.row(row), thread, sums);
            } else {
                layer_.add_weights(forward_.ws_, this->scratch_, row, thread, dy, sums);
            }
        });
        return true;
    }
    int64_t layer_bytes() const override { return ws_.bytes() + ring_.bytes(); }
    void add_layer_costs(std::vector<LayerCost>& list) const override {
        list.push_back(layer_.cost("convolution backward", ws_));
    }

private:
    /// Backward of weights that come first reads the input rows whose gradients it computes.
    static std::unique_ptr<ConvolutionProgram<T>> forward_of(const ProgramRequest& request,
                                                             const Convolution& config,
                                                             const Weights<T>& weights) {
        Range also{0, 0};
        if (ConvolutionLayer<T>::is_weights_first(config)) {
            const Frame frame{request.output.context().comm(), request.queue, request.reproducible};
            std::vector<std::string> unread;
            also = input_bands(frame, request, config.in, config.n_in, unread).of(frame.rank());
        }
        return std::make_unique<ConvolutionProgram<T>>(request, config, weights, also);
    }

    void rings_back() {
        layer_.load(ws_, this->dy_->field());
        const int64_t p = ws_.stencil.n_phase_out;
        ws_.tiles.run(this->frame_.queue, [&](const Work& w, int thread) {
            layer_.ring_gradient(ws_, this->scratch_, w, thread,
                                 ring_.tile(w.row, w.first * p, w.count * p));
        });
    }

    const Convolution config_;
    ConvolutionProgram<T>& forward_;
    ConvolutionGradient<T> layer_;
    typename ConvolutionGradient<T>::Workspace ws_;
    Range in_rows_, out_rows_;
    Field<T> ring_;  // the gradient of what forward read from its rings
};

// ---- resampling ----

template <class T>
class ResampleBack final : public GridGradient<T> {
public:
    ResampleBack(const ProgramRequest& request, const Resample& config, const Weights<T>&)
        : GridGradient<T>(std::make_unique<ResampleProgram<T>>(request, config)) {
        std::vector<std::string> unread;
        const int64_t n = config.n_channel;
        const Bands bands = input_bands(this->frame_, request, config.in, n, unread);
        layer_.emplace(this->frame_, config, n, bands.of(this->frame_.rank()));
        this->set_ports(request, n, layer_->out_rows(), n, bands);
    }

protected:
    void connect_layers() override {}
    bool go_back(bool wants_inputs, GradientSums&) override {
        if (!wants_inputs) return true;
        const kernels::Queue& queue = this->frame_.queue;
        const Range read = layer_->out_rows();
        queue.parallel_for(read.size(), [&](int64_t i, int) {
            const int64_t row = read.begin + i;
            copy<T>(this->dy_->field().row(row), layer_->slopes().row(row));
        });
        Field<T>& dx = this->dx();
        queue.parallel_for(dx.rows().size(), [&](int64_t i, int thread) {
            const int64_t row = dx.rows().begin + i;
            layer_->row(row, thread, false, dx.row(row));
        });
        return true;
    }
    int64_t layer_bytes() const override { return layer_->bytes(); }
    void add_layer_costs(std::vector<LayerCost>&) const override {}

private:
    std::optional<ResampleGradient<T>> layer_;
};

#define SURROGATE_BACK(Config, Back)                                                      \
    template <class T>                                                                    \
    std::unique_ptr<GradientProgram> make_gradient_program(                               \
        const ProgramRequest& request, const Config& config, const Weights<T>& weights) { \
        return std::make_unique<Back<T>>(request, config, weights);                       \
    }                                                                                     \
    template std::unique_ptr<GradientProgram> make_gradient_program(                      \
        const ProgramRequest&, const Config&, const Weights<float>&);                     \
    template std::unique_ptr<GradientProgram> make_gradient_program(                      \
        const ProgramRequest&, const Config&, const Weights<double>&);
SURROGATE_BACK(Attention, AttentionBack)
SURROGATE_BACK(Convolution, ConvolutionBack)
SURROGATE_BACK(Resample, ResampleBack)
#undef SURROGATE_BACK

}  // namespace surrogate::impl::sphere
