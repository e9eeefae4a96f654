// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/parameter_sums.hpp"

#include <algorithm>
#include <numbers>
#include <string>

#include "libsurrogate/src/model/bsa/layers.hpp"

namespace surrogate::impl::bsa {

using kernels::LinearGradient;

namespace {

/// Assigns consecutive parts of memory; without memory it only counts.
class Places {
public:
    explicit Places(double* memory) : memory_(memory) {}

    double* take(int64_t n) {
        double* const place = memory_ ? memory_ + n_taken_ : nullptr;
        n_taken_ += n;
        return place;
    }
    LinearGradient linear(int64_t n_in, int64_t n_out) {
        double* const weight = take(n_in * n_out);
        return {weight, take(n_out)};
    }
    int64_t n_taken() const { return n_taken_; }

private:
    double* memory_;
    int64_t n_taken_ = 0;
};

/// Adds sums to tensors of the arena, and closes them.
class Adder {
public:
    explicit Adder(const SumTarget& target)
        : target_(target), gradients_(target.master, target.sums.open(target.thread)) {}

    /// Adds factor * from (n), all elements of the tensor.
    void add(const WeightName& name, const double* from, int64_t n, double factor = 1) const {
        add_to(name, [&](double* to) { add(from, n, factor, to); });
    }
    void add(const WeightName& name, const LinearGradient& from, int64_t n_in, int64_t n_out,
             double weight_factor = 1, double bias_factor = 1) const {
        add(name + ".weight", from.weight, n_in * n_out, weight_factor);
        add(name + ".bias", from.bias, n_out, bias_factor);
    }
    /// Calls add_all(to) with the tensor's elements, which adds everything to them.
    template <class AddAll>
    void add_to(const WeightName& name, const AddAll& add_all) const {
        add_all(gradients_.at(name));
        const MasterWeights::Entry& entry = *target_.master.find(name);
        target_.sums.close(target_.thread, entry.first, entry.first + entry.size);
    }
    static void add(const double* from, int64_t n, double factor, double* to) {
        for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
    }

private:
    SumTarget target_;
    Gradients gradients_;
};

void add_qkv(const Adder& adder, const WeightName& name, const Config& config,
             const LayerSums& sums) {
    const int64_t c = config.n_channel;
    const QkvRows rows = qkv_rows(config);
    const LinearGradient* const parts[] = {&sums.q, &sums.k, &sums.v};
    const auto for_rows = [&](const auto& body) {
        for (int64_t part = 0; part < 3; ++part) {
            const double factor = part == 0 ? query_scale(config) : 1;
            for (int64_t channel = 0; channel < c; ++channel)
                body(*parts[part], channel, factor, rows.row(part, channel));
        }
    };
    adder.add_to(name + ".weight", [&](double* to) {
        for_rows([&](const LinearGradient& from, int64_t channel, double factor, int64_t row) {
            Adder::add(from.weight + channel * c, c, factor, to + row * c);
        });
    });
    adder.add_to(name + ".bias", [&](double* to) {
        for_rows([&](const LinearGradient& from, int64_t channel, double factor, int64_t row) {
            Adder::add(from.bias + channel, 1, factor, to + row);
        });
    });
}

/// Adds sums of rows, which have `width` elements, to the rows of the file's gates.
void add_gate_rows(const Adder& adder, const WeightName& name, const Config& config,
                   const double* from, int64_t width) {
    const GateRows rows{config.n_head};
    adder.add_to(name, [&](double* to) {
        for (int64_t row = 0; row < rows.n_row(); ++row)
            Adder::add(from + rows.row(row / 3, row % 3) * width, width, 1, to + row * width);
    });
}

/// Adds the sums of gates of compressed and selected branch; the ball branch has none.
void add_static_gates(const Adder& adder, const WeightName& name, const Config& config,
                      const double* from) {
    const GateRows rows{config.n_head};
    adder.add_to(name, [&](double* to) {
        for (int64_t head = 0; head < config.n_head; ++head)
            for (int64_t branch = 1; branch < 3; ++branch)
                to[2 * head + branch - 1] += from[rows.row(head, branch)];
    });
}

void add_coarse(const Adder& adder, const WeightName& name, const Config& config,
                const std::array<LinearGradient, 2>& sums, double scale) {
    const int64_t d = config.head_dim(), hidden = config.n_coarse_hidden;
    adder.add(name + ".0", sums[0], config.block_size * d, hidden, 1 / scale, 1);
    adder.add(name + ".2", sums[1], hidden, d, scale, scale);
}

}  // namespace

void ParameterSums::add(const ParameterSums& other) {
    for (int64_t i = 0; i < memory_.size(); ++i) memory_[i] += other.memory_[i];
}

LayerSums::LayerSums(const Config& config) : config_(&config) {
    memory_ = kernels::Buffer<double>(lay_out(nullptr));
    lay_out(memory_.data());
}

/// Sets the parts and all addresses; returns the number of elements.
int64_t LayerSums::lay_out(double* memory) {
    const Config& config = *config_;
    const int64_t c = config.n_channel, d = config.head_dim();
    Places at(memory);
    const auto in_part = [&](Part part, const auto& take) {
        const int64_t begin = at.n_taken();
        take();
        parts_[part] = {begin, at.n_taken()};
    };
    in_part(start, [&] {
        norm1.weight = at.take(c);
        for (LinearGradient* g : {&q, &k, &v}) *g = at.linear(c, c);
        if (config.has_balls()) position = at.linear(config.n_axis, c);
        if (config.is_sparse() && config.has_token_gates) gates = at.linear(c, 3 * config.n_head);
    });
    in_part(finish, [&] {
        norm2.weight = at.take(c);
        out = at.linear(c, c);
        mlp = {at.linear(c, config.n_hidden), at.linear(c, config.n_hidden),
               at.linear(config.n_hidden, c)};
    });
    in_part(static_gate, [&] {
        if (config.is_sparse() && !config.has_token_gates)
            static_gates = at.take(3 * config.n_head);
    });
    in_part(distance, [&] {
        if (config.has_balls() && config.trains_sigma) sigma = at.take(config.n_head);
    });
    in_part(coarse, [&] {
        if (!config.is_sparse()) return;
        const auto two_layers = [&](std::array<LinearGradient, 2>& g) {
            g = {at.linear(config.block_size * d, config.n_coarse_hidden),
                 at.linear(config.n_coarse_hidden, d)};
        };
        if (config.compresses_by_mlp) two_layers(k_coarse);
        if (config.compresses_by_mlp) two_layers(v_coarse);
        if (config.has_query_mlp) two_layers(q_coarse);
    });
    return at.n_taken();
}

void LayerSums::move_to(const SumTarget& target, const WeightName& name, Part part) {
    if (parts_[part].size() == 0 || !target.sums.is_wanted()) return;
    const Config& c = *config_;
    const WeightName attention = name + (c.is_stage() ? "BMSA." : "attn.");
    const WeightName mlp_name = name + (c.is_stage() ? "swiglu." : "mlp.");
    const Adder adder(target);
    if (part == start) {
        adder.add(name + "norm1.weight", norm1.weight, c.n_channel);
        add_qkv(adder, attention + "qkv", c, *this);
        if (c.has_balls())
            adder.add(attention + (c.is_stage() ? "pe_proj" : "position_proj"), position, c.n_axis,
                      c.n_channel);
        if (gates.weight) {
            const WeightName name_of_gates = attention + "gated_attention.to_strategy.0";
            add_gate_rows(adder, name_of_gates + ".weight", c, gates.weight, c.n_channel);
            add_gate_rows(adder, name_of_gates + ".bias", c, gates.bias, 1);
        }
    }
    if (part == finish) {
        adder.add(name + "norm2.weight", norm2.weight, c.n_channel);
        adder.add(attention + (c.is_stage() ? "proj" : "out_proj"), out, c.n_channel, c.n_channel);
        adder.add(mlp_name + "w1", mlp[0], c.n_channel, c.n_hidden);
        adder.add(mlp_name + "w2", mlp[1], c.n_channel, c.n_hidden);
        adder.add(mlp_name + "w3", mlp[2], c.n_hidden, c.n_channel);
    }
    if (part == static_gate)
        add_static_gates(adder, attention + "gated_attention.gates", c, static_gates);
    if (part == distance) adder.add(attention + "sigma_att", sigma, c.n_head, std::numbers::log2e);
    if (part == coarse) {
        if (c.compresses_by_mlp) add_coarse(adder, attention + "k_compress_mlp", c, k_coarse, 1);
        if (c.compresses_by_mlp) add_coarse(adder, attention + "v_compress_mlp", c, v_coarse, 1);
        if (c.has_query_mlp)
            add_coarse(adder, attention + "q_compress_mlp", c, q_coarse, query_scale(c));
    }
    clear(parts_[part]);
}

EndSums::EndSums(const Config& config) : config_(&config) {
    memory_ = kernels::Buffer<double>(lay_out(nullptr));
    lay_out(memory_.data());
}

int64_t EndSums::lay_out(double* memory) {
    const Config& config = *config_;
    const int64_t c = config.n_channel, d = config.n_axis, f = config.n_feature;
    Places at(memory);
    if (config.features == Features::fourier) fourier = at.take(f / 2 * d);
    if (config.features == Features::linear) positions = at.linear(d, f);
    embed = at.linear(f, c);
    parts_[embedding] = {0, at.n_taken()};
    head1 = at.linear(c, c);
    head2 = at.linear(c, config.n_output);
    parts_[head] = {parts_[embedding].end, at.n_taken()};
    return at.n_taken();
}

void EndSums::move_to(const SumTarget& target, Part part) {
    if (!target.sums.is_wanted()) return;
    const Config& c = *config_;
    const Adder adder(target);
    if (part == embedding) {
        if (fourier) adder.add("pos_enc.linear.weight", fourier, c.n_feature / 2 * c.n_axis);
        if (c.features == Features::linear) adder.add("pos_enc", positions, c.n_axis, c.n_feature);
        adder.add("main_model.embed", embed, c.n_feature, c.n_channel);
    } else {
        adder.add("pred_head.0", head1, c.n_channel, c.n_channel);
        adder.add("pred_head.2", head2, c.n_channel, c.n_output);
    }
    clear(parts_[part]);
}

}  // namespace surrogate::impl::bsa
