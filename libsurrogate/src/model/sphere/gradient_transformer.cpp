// SPDX-License-Identifier: Apache-2.0
// Backward of the Spherical Transformer: what it is made of.
#include "libsurrogate/src/model/sphere/gradient_transformer.hpp"

namespace surrogate::impl::sphere {

namespace {

void require_gradients(const Transformer& c) {
    if (ConvolutionLayer<float>::is_weights_first(c.encoder)) {
        throw Error(Status::not_supported,
                    "a Transformer of " + std::to_string(c.encoder.n_in) + " input and " +
                        std::to_string(c.encoder.n_out) +
                        " embedding channels cannot be trained yet: its encoder applies weights "
                        "before geometry; wider embeddings can be trained");
    }
}

template <class T>
std::unique_ptr<TransformerProgram<T>> forward_of(const ProgramRequest& request,
                                                  const Transformer& config,
                                                  const Weights<T>& weights) {
    require_gradients(config);
    return std::make_unique<TransformerProgram<T>>(request, config, weights);
}

}  // namespace

template <class T>
TransformerGradient<T>::TransformerGradient(const ProgramRequest& request,
                                            const Transformer& config, const Weights<T>& weights)
    : GridGradient<T>(forward_of(request, config, weights)),
      config_(config),
      forward_(static_cast<Forward&>(*this->program_)),
      inner_(forward_.inner_.of(this->frame_.rank())),
      fine_(forward_.fine_.of(this->frame_.rank())),
      encoder_(this->frame_, forward_.encoder_, config.encoder, weights.master(), "encoder.conv."),
      decoder_(this->frame_, forward_.decoder_, config.decoder, weights.master(), "decoder.conv.") {
    const int64_t n = config.n_channel(), n_lon = config.inner.n_lon;
    g_ = Field<T>(inner_, n_lon, n);
    d_ = Field<T>(inner_, n_lon, n);
    for (int64_t i = 0; i < config.n_layer; ++i) forward_.borders_.emplace_back(inner_, n_lon, n);
    ConvolutionGradient<T>::prepare(this->frame_, config.encoder, fine_, encoder_rows_);
    const int64_t n_ring = decoder_.n_ring_channel();
    if (forward_.harmonic_) {
        harmonic_.emplace(this->frame_, *forward_.harmonic_, fine_, inner_);
    } else {
        resample_.emplace(this->frame_, Resample{config.image, config.inner, {}, n_ring}, n_ring,
                          inner_);
    }
    ConvolutionGradient<T>::prepare(this->frame_, config.decoder, slopes().rows(), decoder_rows_);
    if (decoder_.is_weights_first()) dt_ = Field<T>(inner_, n_lon, n_ring);
    make_blocks(weights.master());
    set_embedding(weights.master());
    set_scratch();
    this->set_stages(weights.master(), config.n_layer, "decoder.");
    this->set_ports(request, config.decoder.n_out, hull(decoder_rows_.dy_rows, fine_),
                    config.encoder.n_in, forward_.fine_);
}

template <class T>
void TransformerGradient<T>::make_blocks(const MasterWeights& master) {
    for (int64_t i = 0; i < config_.n_layer; ++i) {
        const std::string name = "blocks." + std::to_string(i) + ".";
        const std::string norm = config_.norm == BlockNorm::layer ? ".norm" : "";
        auto& of = forward_.blocks_[static_cast<size_t>(i)];
        blocks_.push_back(
            {{this->frame_, of.attention, config_.attention, master, name + "self_attn."},
             {this->frame_, of.norm0, master, name + "norm0" + norm},
             {this->frame_, of.norm1, master, name + "norm1" + norm},
             {}});
        if (!config_.use_mlp) continue;
        const std::string second = config_.has_dropout() ? "mlp.fwd.3" : "mlp.fwd.2";
        blocks_.back().mlp[0] =
            GradientPair(master, name + "mlp.fwd.0.weight", name + "mlp.fwd.0.bias");
        blocks_.back().mlp[1] = GradientPair(master, name + second + ".weight", "");
    }
    if (config_.n_layer == 0) return;
    AttentionGradient<T>::prepare(this->frame_, config_.attention, inner_, forward_.attention_,
                                  attention_);
}

template <class T>
void TransformerGradient<T>::set_embedding(const MasterWeights& master) {
    if (config_.embedding != Embedding::learnable_lat &&
        config_.embedding != Embedding::learnable_latlon)
        return;
    embedding_ = GradientSlot(master, "pos_embed.position_embeddings");
    sums_ = Buffer<double>(this->frame_.queue.n_thread() * 2 * config_.n_channel());
}

template <class T>
void TransformerGradient<T>::set_scratch() {
    Scratch<T>& scratch = this->scratch_;
    scratch.require(norm_slot, config_.n_channel());
    scratch.require(dump_slot, config_.n_channel());
    scratch.require(hidden_slot, 2 * config_.n_hidden);
    scratch.require(saved_slot, 2 * config_.n_hidden);
    AttentionGradient<T>::require(config_.attention, scratch);
    ConvolutionGradient<T>::require(config_.encoder, scratch);
    ConvolutionGradient<T>::require(config_.decoder, scratch);
    scratch.allocate(this->frame_.queue.n_thread());
}

template <class T>
void TransformerGradient<T>::connect_layers() {
    if (config_.n_layer > 0)
        AttentionGradient<T>::connect(this->frame_, config_.attention, forward_.inner_, attention_);
    ConvolutionGradient<T>::connect(this->frame_, config_.encoder, forward_.inner_, encoder_rows_);
}

template <class T>
int64_t TransformerGradient<T>::layer_bytes() const {
    int64_t n = encoder_rows_.bytes() + decoder_rows_.bytes() + attention_.bytes() +
                (harmonic_ ? harmonic_->bytes() : resample_->bytes()) + g_.bytes() + d_.bytes() +
                dt_.bytes() + sums_.bytes();
    for (const Field<T>& border : forward_.borders_) n += border.bytes();
    return n;
}

template <class T>
void TransformerGradient<T>::add_layer_costs(std::vector<LayerCost>& list) const {
    list.push_back(decoder_.cost("decoder backward", decoder_rows_));
    if (harmonic_) list.push_back(harmonic_->cost("upsampling backward"));
    const double points = static_cast<double>(inner_.size() * config_.inner.n_lon);
    for (size_t i = blocks_.size(); i-- > 0;) {
        const std::string name = "blocks." + std::to_string(i);
        forward_.blocks_[i].attention.add_costs_to(list, name + " attention again",
                                                   forward_.attention_);
        // Forward again, and two products for each of its own.
        list.push_back({name + " mlp backward",
                        12 * points * static_cast<double>(config_.n_channel() * config_.n_hidden),
                        0, 0, 0, 0});
        list.push_back(blocks_[i].norm1.cost(name + " norm1 backward"));
        list.push_back(blocks_[i].attention.cost(name + " attention backward", attention_));
        list.push_back(blocks_[i].norm0.cost(name + " norm0 backward"));
    }
    list.push_back(encoder_.cost("encoder backward", encoder_rows_));
}

template class TransformerGradient<float>;
template class TransformerGradient<double>;

template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const ProgramRequest& request,
                                                       const Transformer& config,
                                                       const Weights<T>& weights) {
    return std::make_unique<TransformerGradient<T>>(request, config, weights);
}

template std::unique_ptr<GradientProgram> make_gradient_program(const ProgramRequest&,
                                                                const Transformer&,
                                                                const Weights<float>&);
template std::unique_ptr<GradientProgram> make_gradient_program(const ProgramRequest&,
                                                                const Transformer&,
                                                                const Weights<double>&);

}  // namespace surrogate::impl::sphere
