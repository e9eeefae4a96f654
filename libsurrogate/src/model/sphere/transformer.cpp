// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/transformer.hpp"

#include "kernels/mlp/mlp.hpp"
#include "kernels/sphere/harmonics.hpp"
#include "libsurrogate/src/model/sphere/band_choice.hpp"

namespace surrogate::impl::sphere {

template <class T>
PositionEmbedding<T>::PositionEmbedding(const Transformer& config, const Weights<T>& weights,
                                        Range rows)
    : rows_(rows), n_channel_(config.n_channel()), n_lon_(config.inner.n_lon) {
    if (config.embedding == Embedding::none) return;
    const bool is_lat = config.embedding == Embedding::learnable_lat;
    width_ = is_lat ? 1 : n_lon_;
    const int64_t n = n_channel_, width = width_, n_lat = config.inner.n_lat;
    const T* const stored = weights.find("pos_embed.position_embeddings");
    if (stored) {
        stored_ = weights.derive(rows.size() * n * width, [=](T* to) {
            for (int64_t row = rows.begin; row < rows.end; ++row) {
                for (int64_t c = 0; c < n; ++c, to += width)
                    std::copy_n(stored + (c * n_lat + row) * width, width, to);
            }
        });
        values_ = stored_.data();
        return;
    }
    const auto make = config.embedding == Embedding::spectral ? kernels::sphere::spectral_embedding
                                                              : kernels::sphere::sequence_embedding;
    const std::vector<float> computed = make(config.inner, n, rows.begin, rows.end);
    computed_ = Buffer<T>(std::ssize(computed));
    std::ranges::copy(computed, computed_.begin());
    values_ = computed_.data();
}

template <class T>
void PositionEmbedding<T>::add(const Work& work, Tile<T> x) const {
    for (int64_t c = 0; width_ > 0 && c < n_channel_; ++c) {
        const T* e = values_ + ((work.row - rows_.begin) * n_channel_ + c) * width_;
        T* row = x.data + c * x.stride[0];
        for (int64_t i = 0; i < work.count; ++i) row[i] += e[width_ == 1 ? 0 : work.first + i];
    }
}

TransformerBands bands_of(const Frame& frame, const Transformer& c, const SphereDomain& input,
                          const SphereDomain& output, std::vector<std::string>& notes) {
    RowWork work = attention_work(c.attention);
    if (c.attention.is_global) work.pair_flops = 0;
    work.point_flops += 4.0 * static_cast<double>(c.n_channel() * c.n_hidden);
    std::vector<double> inner = row_costs(c.inner, c.inner, c.attention.theta_cutoff, work);
    std::vector<double> pairs = pair_costs(c.attention);
    const auto n_layer = static_cast<double>(std::max<int64_t>(1, c.n_layer));
    for (std::vector<double>* list : {&inner, &pairs})
        for (double& cost : *list) cost *= n_layer;
    add_costs(inner, row_costs(c.inner, c.image, c.encoder.filter.theta_cutoff,
                               convolution_work(c.encoder)));
    TransformerBands bands;
    bands.inner = inner_bands(frame, c.inner, input, inner, notes, pairs);
    bands.fine = choose_bands(
        frame, output,
        row_costs(c.image, c.image, c.decoder.filter.theta_cutoff, convolution_work(c.decoder)),
        c.decoder.n_out, notes);
    return bands;
}

template <class T>
TransformerProgram<T>::TransformerProgram(const ProgramRequest& request, const Transformer& config,
                                          const Weights<T>& weights)
    : GridProgram<T>(request),
      config_(config),
      encoder_(this->frame_, config.encoder, weights, "encoder.conv."),
      decoder_(this->frame_, config.decoder, weights, "decoder.conv.") {
    TransformerBands bands =
        bands_of(this->frame_, config, request.input, request.output, this->notes_);
    inner_ = std::move(bands.inner);
    fine_ = std::move(bands.fine);
    const Range inner = inner_.of(this->frame_.rank()), fine = fine_.of(this->frame_.rank());
    embedding_.emplace(config, weights, inner);
    x_ = Field<T>(inner, config.inner.n_lon, config.n_channel());
    moments_.emplace(this->frame_, inner_, config.n_channel());
    make_blocks(weights);
    set_codec(request, inner, fine);
    set_scratch();
    tiles_ = even_schedule(inner, config.inner.n_lon, this->frame_.queue.n_thread());
}

template <class T>
void TransformerProgram<T>::connect() {
    const Frame& frame = this->frame_;
    if (config_.n_layer > 0)
        AttentionLayer<T>::connect(frame, config_.attention, &inner_, attention_);
    if (resample_) resample_->connect(inner_);
    if (harmonic_) harmonic_->connect(inner_);
    this->connect_ports(fine_);
}

template <class T>
bool TransformerProgram<T>::run() {
    encode();
    for (size_t i = 0; i < blocks_.size(); ++i) {
        if (!borders_.empty()) copy_rows(this->frame_.queue, x_, borders_[i]);
        if (!attend(blocks_[i]) || !feed_forward(static_cast<int64_t>(i))) return false;
    }
    decode();
    return true;
}

template <class T>
int64_t TransformerProgram<T>::bytes() const {
    return this->port_bytes() + encoder_rows_.bytes() + decoder_rows_.bytes() + attention_.bytes() +
           embedding_->bytes() + x_.bytes() + t_.bytes() + moments_->bytes() +
           (resample_ ? resample_->bytes() : 0) + (harmonic_ ? harmonic_->bytes() : 0);
}

template <class T>
void TransformerProgram<T>::make_blocks(const Weights<T>& weights) {
    const int64_t n = config_.n_channel();
    for (int64_t i = 0; i < config_.n_layer; ++i) {
        const std::string name = "blocks." + std::to_string(i) + ".";
        const std::string norm = config_.norm == BlockNorm::layer ? ".norm" : "";
        const auto make_norm = [&](const char* which) {
            return PointNorm<T>(this->frame_, config_.norm, weights, name + which + norm, 1e-6,
                                &*moments_);
        };
        std::vector<kernels::Linear<T>> mlp;
        if (config_.use_mlp) {
            const std::string second = config_.has_dropout() ? "mlp.fwd.3" : "mlp.fwd.2";
            mlp.push_back(weights.linear(name + "mlp.fwd.0.weight", name + "mlp.fwd.0.bias", n,
                                         config_.n_hidden));
            mlp.push_back(weights.linear(name + second + ".weight", "", config_.n_hidden, n));
        }
        blocks_.push_back({{this->frame_, config_.attention, weights, name + "self_attn."},
                           make_norm("norm0"),
                           make_norm("norm1"),
                           std::move(mlp)});
    }
    if (config_.n_layer == 0) return;
    AttentionLayer<T>::prepare(this->frame_, config_.attention, inner_.of(this->frame_.rank()),
                               &inner_, attention_);
}

template <class T>
void TransformerProgram<T>::set_codec(const ProgramRequest& request, Range inner, Range fine) {
    const auto& c = config_;
    ConvolutionLayer<T>::prepare(this->frame_, c.encoder, inner, encoder_rows_);
    ConvolutionLayer<T>::prepare(this->frame_, c.decoder, fine, decoder_rows_);
    const Range wanted = c.residual ? hull(encoder_rows_.in_rows, fine) : encoder_rows_.in_rows;
    this->inputs_.push_back(std::make_unique<InputPort<T>>(request.input, c.encoder.n_in, wanted));
    this->output_ = std::make_unique<OutputPort<T>>(request.output, c.decoder.n_out, fine_);
    // Interpolation and the decoder's weights commute: fewer channels are interpolated if the
    // weights come first.
    const int64_t n_ring = ConvolutionLayer<T>::n_ring_channel(c.decoder);
    if (ConvolutionLayer<T>::is_weights_first(c.decoder))
        t_ = Field<T>(inner, c.inner.n_lon, n_ring);
    if (c.upsample_sht) {
        harmonic_.emplace(this->frame_, c.image, c.inner, n_ring, decoder_rows_.in_rows);
    } else {
        resample_.emplace(this->frame_, Resample{c.image, c.inner, {}, n_ring}, n_ring,
                          decoder_rows_.in_rows);
    }
}

template <class T>
void TransformerProgram<T>::set_scratch() {
    Scratch<T>& scratch = this->scratch_;
    scratch.require(norm_slot, config_.n_channel());
    scratch.require(AttentionLayer<T>::heads_slot, config_.n_channel());
    ConvolutionLayer<T>::require(config_.encoder, scratch);
    ConvolutionLayer<T>::require(config_.decoder, scratch);
    scratch.require(hidden_slot, 2 * config_.n_hidden);
    scratch.allocate(this->frame_.queue.n_thread());
}

template <class T>
Tile<T> TransformerProgram<T>::normalised(const PointNorm<T>& norm, const Work& w, int thread) {
    const Tile<T> y = this->scratch_.tile(thread, norm_slot, config_.n_channel(), w.count);
    norm.apply(x_.tile(w.row, w.first, w.count), y);
    return y;
}

template <class T>
void TransformerProgram<T>::encode() {
    encoder_.load(encoder_rows_, this->inputs_.front()->field());
    encoder_rows_.tiles.run(this->frame_.queue, [&](const Work& w, int thread) {
        const Tile<T> x = x_.tile(w.row, w.first, w.count);
        encoder_.convolve(encoder_rows_, this->scratch_, w, thread, x);
        embedding_->add(w, x);
        if (this->dropout_.drops(config_.drop_rate))
            this->dropout_.apply(encoder_site(config_), rows_of(config_, w), x);
    });
}

template <class T>
bool TransformerProgram<T>::attend(Block& block) {
    if (!block.norm0.measure(x_)) return false;
    add_attention(block);
    return true;
}

/// Behind norm0.measure().
template <class T>
void TransformerProgram<T>::add_attention(Block& block) {
    const kernels::Queue& queue = this->frame_.queue;
    tiles_.run(queue, [&](const Work& w, int thread) {
        const Tile<T> y = normalised(block.norm0, w, thread);
        block.attention.project_queries(attention_, w, y);
        block.attention.project_keys(attention_, w, y, y);
    });
    block.attention.attend(attention_, this->scratch_, true, x_);
}

/// The MLP of block i. Training may drop values, and the branch as a whole.
template <class T>
bool TransformerProgram<T>::feed_forward(int64_t i) {
    Block& block = blocks_[static_cast<size_t>(i)];
    const kernels::ResidualMlp<T> mlp{block.mlp, config_.activation, false, false};
    const bool drops = this->dropout_.drops(config_.drop_rate);
    const double factor = this->dropout_.branch(path_site(config_, i));
    if (factor == 0) return true;
    if (!block.norm1.measure(x_)) return false;
    tiles_.run(this->frame_.queue, [&](const Work& w, int thread) {
        const Tile<T> y = normalised(block.norm1, w, thread);
        const Tile<T> x = x_.tile(w.row, w.first, w.count);
        if (!config_.use_mlp) return add<T>(y, x, factor);
        const Tile<T> hidden =
            this->scratch_.tile(thread, hidden_slot, 2 * config_.n_hidden, w.count);
        if (!drops && factor == 1)
            return kernels::residual_mlp<T>(this->frame_.queue, mlp, y, hidden, true, x);
        const Tile<T> branch = this->scratch_.tile(thread, AttentionLayer<T>::heads_slot,
                                                   config_.n_channel(), w.count);
        dropout_mlp(this->frame_, config_, mlp, i)
            .forward(DropoutRows::shared(), y, hidden, branch);
        add<T>(branch, x, factor);
    });
    return true;
}

template <class T>
void TransformerProgram<T>::decode() {
    const kernels::Queue& queue = this->frame_.queue;
    const bool weights_first = decoder_.is_weights_first();
    if (weights_first) {
        tiles_.run(queue, [&](const Work& w, int) {
            decoder_.expand(x_.tile(w.row, w.first, w.count), t_.tile(w.row, w.first, w.count));
        });
    }
    Field<T>& source = weights_first ? t_ : x_;
    if (harmonic_) harmonic_->exchange(source);
    if (resample_) resample_->exchange(source);
    const Range rows = decoder_rows_.in_rows;
    queue.parallel_for(rows.size(), [&](int64_t i, int thread) {
        const int64_t row = rows.begin + i;
        const Tile<T> ring = decoder_.ring_row(decoder_rows_, row);
        if (harmonic_) harmonic_->row(row, ring);
        if (resample_) resample_->row(row, thread, false, ring);
        decoder_.close(decoder_rows_, row);
    });
    Field<T>& y = this->output_->field();
    decoder_rows_.tiles.run(queue, [&](const Work& w, int thread) {
        const Tile<T> to = y.tile(w.row, w.first, w.count);
        decoder_.convolve(decoder_rows_, this->scratch_, w, thread, to);
        if (!config_.residual) return;
        const Tile<T> r = this->inputs_.front()->field().tile(w.row, w.first, w.count);
        for (int64_t c = 0; c < to.shape[0]; ++c) {
            for (int64_t i = 0; i < w.count; ++i) to(c, i) += r(c, i);
        }
    });
}

template <class T>
std::vector<LayerCost> TransformerProgram<T>::costs() const {
    std::vector<LayerCost> list;
    this->add_port_costs(list, true);
    list.push_back(encoder_.cost("encoder", encoder_rows_));
    const double points = static_cast<double>(x_.rows().size() * config_.inner.n_lon);
    for (size_t i = 0; i < blocks_.size(); ++i) {
        const std::string name = "blocks." + std::to_string(i);
        list.push_back(blocks_[i].norm0.cost(name + " norm0"));
        blocks_[i].attention.add_costs_to(list, name + " attention", attention_);
        list.push_back(blocks_[i].norm1.cost(name + " norm1"));
        list.push_back({name + " mlp",
                        4 * points * static_cast<double>(config_.n_channel() * config_.n_hidden), 0,
                        0, 0, 0});
    }
    if (resample_) list.push_back(resample_->cost("upsampling"));
    if (harmonic_) list.push_back(harmonic_->cost("upsampling"));
    list.push_back(decoder_.cost("decoder", decoder_rows_));
    this->add_port_costs(list, false);
    return list;
}

template class TransformerProgram<float>;
template class TransformerProgram<double>;

template <class T>
std::unique_ptr<Program> make_program(const ProgramRequest& request, const Transformer& config,
                                      const Weights<T>& weights) {
    return std::make_unique<TransformerProgram<T>>(request, config, weights);
}

template std::unique_ptr<Program> make_program(const ProgramRequest&, const Transformer&,
                                               const Weights<float>&);
template std::unique_ptr<Program> make_program(const ProgramRequest&, const Transformer&,
                                               const Weights<double>&);

}  // namespace surrogate::impl::sphere
