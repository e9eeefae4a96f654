// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/attention.hpp"
#include "libsurrogate/src/model/sphere/convolution.hpp"
#include "libsurrogate/src/model/sphere/program.hpp"
#include "libsurrogate/src/model/sphere/resampling.hpp"

/// Single layers as programs. Their inputs are sent from the solver directly to the ranks that read
/// them. Backward reads the data that they store.
namespace surrogate::impl::sphere {

// ---- attention ----

template <class T>
class AttentionProgram final : public GridProgram<T> {
public:
    /// Makes the layer. also: input rows that backward needs besides the rows that forward reads,
    /// between two grids.
    AttentionProgram(const ProgramRequest& request, const Attention& config,
                     const Weights<T>& weights, Range also = {0, 0})
        : GridProgram<T>(request),
          config_(config),
          is_self_(config.in == config.out),
          layer_(this->frame_, config, weights, "") {
        const Frame& frame = this->frame_;
        RowWork work = attention_work(config);
        if (config.is_global) work.pair_flops = 0;
        bands_ = choose_bands(frame, request.output,
                              row_costs(config.out, config.in, config.theta_cutoff, work),
                              config.n_in, this->notes_, pair_costs(config));
        const Range rows = bands_.of(frame.rank());
        AttentionLayer<T>::prepare(frame, config, rows, key_bands(), ws_, also);
        const auto add_input = [&](const SphereDomain& domain, Range wanted) {
            this->inputs_.push_back(std::make_unique<InputPort<T>>(domain, config.n_in, wanted));
        };
        if (is_self_) {
            add_input(request.input, hull(rows, ws_.own_keys));
        } else {
            add_input(request.output, rows);
            add_input(request.input, ws_.key_rows);
            add_input(request.input, ws_.key_rows);
        }
        this->output_ = std::make_unique<OutputPort<T>>(request.output, config.n_value, bands_);
        this->scratch_.require(AttentionLayer<T>::heads_slot, config.n_value);
        this->scratch_.allocate(frame.queue.n_thread());
    }

    void connect() override {
        AttentionLayer<T>::connect(this->frame_, config_, key_bands(), ws_);
        this->connect_ports(bands_);
    }

    bool run() override {
        const kernels::Queue& queue = this->frame_.queue;
        Field<T>& query = this->inputs_.front()->field();
        Field<T>& key = this->inputs_[is_self_ ? 0 : 1]->field();
        Field<T>& value = this->inputs_[is_self_ ? 0 : 2]->field();
        const auto project_queries = [&](const Work& w) {
            layer_.project_queries(ws_, w, query.tile(w.row, w.first, w.count));
        };
        const Range rows = ws_.out_rows;
        if (!is_self_) ws_.query_tiles.run(queue, [&](const Work& w, int) { project_queries(w); });
        ws_.key_tiles.run(queue, [&](const Work& w, int) {
            // Queries lie in the tiles of keys: the inputs are read from memory once.
            if (is_self_ && w.row >= rows.begin && w.row < rows.end) project_queries(w);
            layer_.project_keys(ws_, w, key.tile(w.row, w.first, w.count),
                                value.tile(w.row, w.first, w.count));
        });
        layer_.attend(ws_, this->scratch_, false, this->output_->field());
        return true;
    }

    std::vector<LayerCost> costs() const override {
        std::vector<LayerCost> list;
        this->add_port_costs(list, true);
        layer_.add_costs_to(list, "attention", ws_);
        this->add_port_costs(list, false);
        return list;
    }
    int64_t bytes() const override { return this->port_bytes() + ws_.bytes(); }

private:
    template <class>
    friend class AttentionBack;
    /// Ranks that share rows exchange keys and values: a rank of many would project more keys of
    /// other ranks than its own.
    const Bands* key_bands() const { return bands_.is_divided() ? &bands_ : nullptr; }

    Attention config_;
    bool is_self_;
    Bands bands_;
    AttentionLayer<T> layer_;
    typename AttentionLayer<T>::Workspace ws_;
};

// ---- convolution ----

template <class T>
class ConvolutionProgram final : public GridProgram<T> {
public:
    /// Makes the layer. also: input rows that backward needs besides the rows that forward reads.
    ConvolutionProgram(const ProgramRequest& request, const Convolution& config,
                       const Weights<T>& weights, Range also = {0, 0})
        : GridProgram<T>(request), layer_(this->frame_, config, weights, "") {
        const Frame& frame = this->frame_;
        bands_ = choose_bands(
            frame, request.output,
            row_costs(config.out, config.in, config.filter.theta_cutoff, convolution_work(config)),
            config.n_in, this->notes_);
        ConvolutionLayer<T>::prepare(frame, config, bands_.of(frame.rank()), ws_);
        this->inputs_.push_back(
            std::make_unique<InputPort<T>>(request.input, config.n_in, hull(ws_.in_rows, also)));
        this->output_ = std::make_unique<OutputPort<T>>(request.output, config.n_out, bands_);
        ConvolutionLayer<T>::require(config, this->scratch_);
        this->scratch_.allocate(frame.queue.n_thread());
    }

    void connect() override { this->connect_ports(bands_); }

    bool run() override {
        layer_.load(ws_, this->inputs_.front()->field());
        ws_.tiles.run(this->frame_.queue, [&](const Work& w, int thread) {
            const int64_t p = ws_.n_phase_out;
            layer_.convolve(ws_, this->scratch_, w, thread,
                            this->output_->field().tile(w.row, w.first * p, w.count * p));
        });
        return true;
    }

    std::vector<LayerCost> costs() const override {
        std::vector<LayerCost> list;
        this->add_port_costs(list, true);
        list.push_back(layer_.cost("convolution", ws_));
        this->add_port_costs(list, false);
        return list;
    }
    int64_t bytes() const override { return this->port_bytes() + ws_.bytes(); }

private:
    template <class>
    friend class ConvolutionBack;
    Bands bands_;
    ConvolutionLayer<T> layer_;
    typename ConvolutionLayer<T>::Workspace ws_;
};

// ---- resampling ----

template <class T>
class ResampleProgram final : public GridProgram<T> {
public:
    ResampleProgram(const ProgramRequest& request, const Resample& config)
        : GridProgram<T>(request),
          bands_(choose_bands(this->frame_, request.output,
                              row_costs(config.out, config.in, 0, {6.0, 0}), config.n_channel,
                              this->notes_)),
          layer_(this->frame_, config, config.n_channel, bands_.of(this->frame_.rank())) {
        this->inputs_.push_back(
            std::make_unique<InputPort<T>>(request.input, config.n_channel, layer_.in_rows()));
        this->output_ = std::make_unique<OutputPort<T>>(request.output, config.n_channel, bands_);
    }

    void connect() override { this->connect_ports(bands_); }

    bool run() override {
        layer_.load(this->inputs_.front()->field());
        Field<T>& y = this->output_->field();
        this->frame_.queue.parallel_for(y.rows().size(), [&](int64_t i, int thread) {
            const int64_t row = y.rows().begin + i;
            layer_.row(row, thread, false, y.row(row));
        });
        return true;
    }

    std::vector<LayerCost> costs() const override {
        std::vector<LayerCost> list;
        this->add_port_costs(list, true);
        list.push_back(layer_.cost("resampling"));
        this->add_port_costs(list, false);
        return list;
    }
    int64_t bytes() const override { return this->port_bytes() + layer_.bytes(); }

private:
    Bands bands_;
    ResampleLayer<T> layer_;
};

}  // namespace surrogate::impl::sphere
