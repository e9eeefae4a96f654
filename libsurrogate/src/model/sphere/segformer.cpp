// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/segformer.hpp"

#include "libsurrogate/src/model/sphere/band_choice.hpp"

namespace surrogate::impl::sphere {

template <class T>
Level<T>::Level(const Frame& frame, const SegformerLevel& config, const Weights<T>& weights,
                size_t index, Bands bands, Activation activation)
    : frame_(frame),
      config_(config),
      activation_(activation),
      bands_(std::move(bands)),
      merge_(frame, config.merge, weights, prefix(index) + "fwd.0.conv."),
      merge_norm_(weights.layer_norm(prefix(index) + "fwd.0.norm", 1e-5)),
      norm_(weights.layer_norm(prefix(index) + "norm", 1e-5)) {
    const int64_t n = config.n_channel(), n_lon = config.grid().n_lon;
    const Range rows = bands_.of(frame.rank());
    for (int64_t j = 0; j < config.depth; ++j) {
        const std::string attention = prefix(index) + "fwd." + std::to_string(1 + 2 * j) + ".";
        const std::string feed = prefix(index) + "fwd." + std::to_string(2 + 2 * j) + ".";
        repetitions_.push_back(
            {weights.layer_norm(attention + "norm", 1e-5),
             weights.layer_norm(feed + "norm", 1e-5),
             {frame, config.attention, weights, attention + "att."},
             weights.linear(feed + "mlp_in.weight", feed + "mlp_in.bias", n, n),
             weights.linear(feed + "mlp_out.weight", feed + "mlp_out.bias", n, n),
             {frame, config.mix, weights, feed + "conv."}});
    }
    ConvolutionLayer<T>::prepare(frame, config.merge, rows, merge_rows_);
    x_ = Field<T>(rows, n_lon, n);
    tiles_ = even_schedule(rows, n_lon, frame.queue.n_thread());
    if (config.depth == 0) return;
    AttentionLayer<T>::prepare(frame, config.attention, rows, &bands_, attention_);
    ConvolutionLayer<T>::prepare(frame, config.mix, rows, mix_rows_);
    hidden_ = Field<T>(rows, n_lon, n);
}

template <class T>
void Level<T>::connect(const Bands* above) {
    if (above) ConvolutionLayer<T>::connect(frame_, config_.merge, *above, merge_rows_);
    if (config_.depth == 0) return;
    AttentionLayer<T>::connect(frame_, config_.attention, &bands_, attention_);
    ConvolutionLayer<T>::connect(frame_, config_.mix, bands_, mix_rows_);
}

template <class T>
void Level<T>::require(Scratch<T>& scratch) const {
    scratch.require(norm_slot, config_.n_channel());
    scratch.require(AttentionLayer<T>::heads_slot, config_.n_channel());
    ConvolutionLayer<T>::require(config_.merge, scratch);
    ConvolutionLayer<T>::require(config_.mix, scratch);
}

template <class T>
void Level<T>::run(Field<T>& above, bool is_first, Scratch<T>& scratch) {
    if (is_first)
        merge_.load(merge_rows_, above);
    else
        merge_.exchange(merge_rows_, above);
    merge_rows_.tiles.run(frame_.queue, [&](const Work& w, int thread) {
        const Tile<T> x = x_.tile(w.row, w.first, w.count);
        merge_.convolve(merge_rows_, scratch, w, thread, x);
        if (!borders_.empty()) copy<T>(x, merged_.tile(w.row, w.first, w.count));
        kernels::normalise<T>(frame_.queue, merge_norm_, x, x);
    });
    for (size_t j = 0; j < repetitions_.size(); ++j) {
        if (!borders_.empty()) copy_rows(frame_.queue, x_, borders_[j]);
        attend(j, scratch);
        feed_forward(j, scratch);
    }
    if (!borders_.empty()) copy_rows(frame_.queue, x_, last_);
    tiles_.run(frame_.queue, [&](const Work& w, int) {
        const Tile<T> x = x_.tile(w.row, w.first, w.count);
        kernels::normalise<T>(frame_.queue, norm_, x, x);
    });
}

template <class T>
int64_t Level<T>::bytes() const {
    return merge_rows_.bytes() + mix_rows_.bytes() + attention_.bytes() + x_.bytes() +
           hidden_.bytes();
}

/// Adds the attention of repetition j, unless training drops it.
template <class T>
void Level<T>::attend(size_t j, Scratch<T>& scratch) {
    Repetition<T>& repetition = repetitions_[j];
    const double factor = path(j, true);
    if (factor == 0) return;
    tiles_.run(frame_.queue, [&](const Work& w, int thread) {
        const Tile<T> y = scratch.tile(thread, norm_slot, config_.n_channel(), w.count);
        kernels::normalise<T>(frame_.queue, repetition.attention_norm,
                              x_.tile(w.row, w.first, w.count), y);
        repetition.attention.project_queries(attention_, w, y);
        repetition.attention.project_keys(attention_, w, y, y);
    });
    if (factor == 1) return repetition.attention.attend(attention_, scratch, true, x_);
    repetition.attention.attend(attention_, scratch, false, hidden_);
    for_rows(frame_.queue, hidden_, x_, [&](Tile<const T> y, Tile<T> x) { add<T>(y, x, factor); });
}

template <class T>
void Level<T>::fill_hidden(Repetition<T>& repetition, Scratch<T>& scratch) {
    const int64_t n = config_.n_channel();
    tiles_.run(frame_.queue, [&](const Work& w, int thread) {
        const Tile<T> y = scratch.tile(thread, norm_slot, n, w.count);
        kernels::normalise<T>(frame_.queue, repetition.mix_norm, x_.tile(w.row, w.first, w.count),
                              y);
        kernels::linear<T>(frame_.queue, repetition.mlp_in, y, {},
                           hidden_.tile(w.row, w.first, w.count));
    });
    repetition.mix.exchange(mix_rows_, hidden_);
}

/// Adds the feed-forward part of repetition j, unless training drops it.
template <class T>
void Level<T>::feed_forward(size_t j, Scratch<T>& scratch) {
    Repetition<T>& repetition = repetitions_[j];
    const double factor = path(j, false);
    if (factor == 0) return;
    const int64_t n = config_.n_channel();
    fill_hidden(repetition, scratch);
    mix_rows_.tiles.run(frame_.queue, [&](const Work& w, int thread) {
        const Tile<T> y = scratch.tile(thread, norm_slot, n, w.count);
        repetition.mix.convolve(mix_rows_, scratch, w, thread, y);
        kernels::activate<T>(frame_.queue, activation_, y, y);
        const Tile<T> x = x_.tile(w.row, w.first, w.count);
        if (factor == 1) return kernels::linear<T>(frame_.queue, repetition.mlp_out, y, x, x);
        const Tile<T> branch = scratch.tile(thread, branch_slot, n, w.count);
        kernels::linear<T>(frame_.queue, repetition.mlp_out, y, {}, branch);
        add<T>(branch, x, factor);
    });
}

template <class T>
void Level<T>::add_costs_to(std::vector<LayerCost>& list, const std::string& name) const {
    list.push_back(merge_.cost(name + " merge", merge_rows_));
    const double points = static_cast<double>(x_.rows().size() * config_.grid().n_lon);
    const double width = static_cast<double>(config_.n_channel());
    for (size_t j = 0; j < repetitions_.size(); ++j) {
        const std::string repetition = name + "." + std::to_string(j);
        repetitions_[j].attention.add_costs_to(list, repetition + " attention", attention_);
        LayerCost mix = repetitions_[j].mix.cost(repetition + " feed-forward", mix_rows_);
        mix.flops += 4 * points * width * width;
        list.push_back(mix);
    }
}

template <class T>
Upsampler<T>::Upsampler(const Frame& frame, const Segformer& config, const Weights<T>& weights,
                        size_t index, Level<T>& level, Range fine_rows)
    : frame_(frame), level_(level), config_(level.config().upsample) {
    const std::string name = "upsamplers." + std::to_string(index) + ".";
    const int64_t n = level.config().n_channel(), n_out = config.n_out;
    mlp_ = weights.linear(name + "mlp.weight", name + "mlp.bias", n, n);
    set_head(config, weights, index);
    const Range rows = level.bands().of(frame.rank());
    if (!config.upsamples_by_convolution) {
        part_ = Field<T>(rows, level.config().grid().n_lon, n_out);
        resample_.emplace(frame, Resample{config.image, level.config().grid(), {}, n_out}, n_out,
                          fine_rows);
        return;
    }
    config_.n_out = n_out;
    fold_head(weights, weights.at(name + "upsample.weight"), n, n_out);
    convolution_.emplace(frame, config_, weights, folded_.data());
    part_ = Field<T>(rows, level.config().grid().n_lon, n);
    sums_ = Field<T>(fine_rows, config.image.n_lon, n_out);
    ConvolutionLayer<T>::prepare(frame, config_, fine_rows, rows_);
}

template <class T>
void Upsampler<T>::require(Scratch<T>& scratch) const {
    scratch.require(0, level_.config().n_channel());
    if (convolution_) ConvolutionLayer<T>::require(config_, scratch);
}

template <class T>
void Upsampler<T>::connect() {
    if (resample_) resample_->connect(level_.bands());
    if (convolution_) ConvolutionLayer<T>::connect(frame_, config_, level_.bands(), rows_);
}

template <class T>
void Upsampler<T>::add_to(Field<T>& y, Scratch<T>& scratch) {
    level_.tiles().run(frame_.queue, [&](const Work& w, int thread) {
        const Tile<T> x = level_.features().tile(w.row, w.first, w.count);
        const Tile<T> part = part_.tile(w.row, w.first, w.count);
        if (convolution_) {
            kernels::linear<T>(frame_.queue, mlp_, x, {}, part);
            return;
        }
        const Tile<T> mixed = scratch.tile(thread, 0, mlp_.n_out, w.count);
        kernels::linear<T>(frame_.queue, mlp_, x, {}, mixed);
        kernels::linear<T>(frame_.queue, head_, mixed, {}, part);
    });
    if (resample_) {
        resample_->exchange(part_);
        frame_.queue.parallel_for(y.rows().size(), [&](int64_t i, int thread) {
            const int64_t row = y.rows().begin + i;
            resample_->row(row, thread, true, y.row(row));
        });
        return;
    }
    convolution_->exchange(rows_, part_);
    const int64_t phases = rows_.n_phase_out;
    rows_.tiles.run(frame_.queue, [&](const Work& w, int thread) {
        const Tile<T> part = sums_.tile(w.row, w.first * phases, w.count * phases);
        convolution_->convolve(rows_, scratch, w, thread, part);
        const Tile<T> to = y.tile(w.row, w.first * phases, w.count * phases);
        for (int64_t c = 0; c < to.shape[0]; ++c) {
            for (int64_t i = 0; i < to.shape[1]; ++i) to(c, i) += part(c, i);
        }
    });
}

template <class T>
LayerCost Upsampler<T>::cost(const std::string& name) const {
    return resample_ ? resample_->cost(name) : convolution_->cost(name, rows_);
}

template <class T>
int64_t Upsampler<T>::bytes() const {
    return part_.bytes() + sums_.bytes() + (resample_ ? resample_->bytes() : rows_.bytes());
}

template <class T>
void Upsampler<T>::set_head(const Segformer& config, const Weights<T>& weights, size_t index) {
    const int64_t n = config.levels[index].n_channel();
    int64_t first = 0, n_all = 0;
    for (size_t i = 0; i < config.levels.size(); ++i) {
        if (i < index) first += config.levels[i].n_channel();
        n_all += config.levels[i].n_channel();
    }
    const T* all = weights.at("segmentation_head.weight");
    head_weight_ = weights.derive(config.n_out * n, [=, n_out = config.n_out](T* to) {
        for (int64_t o = 0; o < n_out; ++o) std::copy_n(all + o * n_all + first, n, to + o * n);
    });
    head_ = {n, config.n_out, head_weight_.data(), nullptr};
}

template <class T>
void Upsampler<T>::fold_head(const Weights<T>& weights, const T* weight, int64_t n, int64_t n_out) {
    const int64_t n_entry = n * config_.n_basis();
    const T* const head = head_weight_.data();
    folded_ = weights.derive(n_out * n_entry, [=](T* to) {
        for (int64_t o = 0; o < n_out; ++o) {
            for (int64_t e = 0; e < n_entry; ++e) {
                double sum = 0;
                for (int64_t u = 0; u < n; ++u)
                    sum += static_cast<double>(head[o * n + u]) *
                           static_cast<double>(weight[u * n_entry + e]);
                to[o * n_entry + e] = static_cast<T>(sum);
            }
        }
    });
}

namespace {

/// Costs of rows, and the part of them that may be divided between ranks.
struct LevelCosts {
    std::vector<double> rows, pairs;
};

LevelCosts level_costs(const SegformerLevel& level) {
    RowWork attention = attention_work(level.attention);
    if (level.attention.is_global) attention.pair_flops = 0;
    const double width = static_cast<double>(level.n_channel());
    attention.point_flops += 4 * width * width;
    LevelCosts costs = {
        row_costs(level.grid(), level.grid(), level.attention.theta_cutoff, attention),
        pair_costs(level.attention)};
    add_costs(costs.rows, row_costs(level.grid(), level.grid(), level.mix.filter.theta_cutoff,
                                    convolution_work(level.mix)));
    const auto depth = static_cast<double>(std::max<int64_t>(1, level.depth));
    for (std::vector<double>* list : {&costs.rows, &costs.pairs})
        for (double& cost : *list) cost *= depth;
    return costs;
}

}  // namespace

SegformerBands bands_of(const Frame& frame, const Segformer& config, const SphereDomain& input,
                        const SphereDomain& output, std::vector<std::string>& notes) {
    SegformerBands bands;
    for (const SegformerLevel& level : config.levels) {
        const LevelCosts costs = level_costs(level);
        bands.levels.push_back(
            inner_bands(frame, level.grid(), input, costs.rows, notes, costs.pairs));
    }
    bands.fine = choose_bands(
        frame, output,
        row_costs(config.image, config.image, 0, {6.0 * static_cast<double>(config.n_out), 0}),
        config.n_out, notes);
    return bands;
}

template <class T>
SegformerProgram<T>::SegformerProgram(const ProgramRequest& request, const Segformer& config,
                                      const Weights<T>& weights)
    : GridProgram<T>(request), bias_(weights.at("segmentation_head.bias")) {
    const Frame& frame = this->frame_;
    SegformerBands bands = bands_of(frame, config, request.input, request.output, this->notes_);
    for (size_t i = 0; i < config.levels.size(); ++i)
        levels_.emplace_back(frame, config.levels[i], weights, i, std::move(bands.levels[i]),
                             config.activation);
    fine_ = std::move(bands.fine);
    const Range fine = fine_.of(frame.rank());
    for (size_t i = 0; i < config.levels.size(); ++i)
        upsamplers_.emplace_back(frame, config, weights, i, levels_[i], fine);
    this->inputs_.push_back(std::make_unique<InputPort<T>>(
        request.input, config.levels[0].merge.n_in, levels_[0].merge_rows().in_rows));
    this->output_ = std::make_unique<OutputPort<T>>(request.output, config.n_out, fine_);
    for (const Level<T>& level : levels_) level.require(this->scratch_);
    for (const Upsampler<T>& upsampler : upsamplers_) upsampler.require(this->scratch_);
    this->scratch_.allocate(frame.queue.n_thread());
}

template <class T>
void SegformerProgram<T>::connect() {
    const Bands* above = nullptr;
    for (Level<T>& level : levels_) {
        level.connect(above);
        above = &level.bands();
    }
    for (Upsampler<T>& upsampler : upsamplers_) upsampler.connect();
    this->connect_ports(fine_);
}

template <class T>
bool SegformerProgram<T>::run() {
    Field<T>* above = &this->inputs_.front()->field();
    for (Level<T>& level : levels_) {
        level.run(*above, &level == &levels_.front(), this->scratch_);
        above = &level.features();
    }
    Field<T>& y = this->output_->field();
    this->frame_.queue.parallel_for(y.rows().size(), [&](int64_t i, int) {
        const Tile<T> row = y.row(y.rows().begin + i);
        for (int64_t c = 0; c < row.shape[0]; ++c)
            std::fill_n(row.data + c * row.stride[0], row.shape[1], bias_[c]);
    });
    for (Upsampler<T>& upsampler : upsamplers_) upsampler.add_to(y, this->scratch_);
    return true;
}

template <class T>
std::vector<LayerCost> SegformerProgram<T>::costs() const {
    std::vector<LayerCost> list;
    this->add_port_costs(list, true);
    for (size_t i = 0; i < levels_.size(); ++i)
        levels_[i].add_costs_to(list, "blocks." + std::to_string(i));
    for (size_t i = 0; i < upsamplers_.size(); ++i)
        list.push_back(upsamplers_[i].cost("upsamplers." + std::to_string(i)));
    this->add_port_costs(list, false);
    return list;
}

template <class T>
int64_t SegformerProgram<T>::bytes() const {
    int64_t n = this->port_bytes();
    for (const Level<T>& level : levels_) n += level.bytes();
    for (const Upsampler<T>& upsampler : upsamplers_) n += upsampler.bytes();
    return n;
}

template class Level<float>;
template class Level<double>;
template class Upsampler<float>;
template class Upsampler<double>;
template class SegformerProgram<float>;
template class SegformerProgram<double>;

template <class T>
std::unique_ptr<Program> make_program(const ProgramRequest& request, const Segformer& config,
                                      const Weights<T>& weights) {
    return std::make_unique<SegformerProgram<T>>(request, config, weights);
}

template std::unique_ptr<Program> make_program(const ProgramRequest&, const Segformer&,
                                               const Weights<float>&);
template std::unique_ptr<Program> make_program(const ProgramRequest&, const Segformer&,
                                               const Weights<double>&);

}  // namespace surrogate::impl::sphere
