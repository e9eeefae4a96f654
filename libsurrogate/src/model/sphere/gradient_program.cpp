// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/gradient_program.hpp"

#include "libsurrogate/src/ranks/reduce.hpp"

namespace surrogate::impl::sphere {

template <class T>
GridGradient<T>::GridGradient(std::unique_ptr<GridProgram<T>> program)
    : program_(std::move(program)), frame_(program_->frame()) {}

template <class T>
void GridGradient<T>::set_ports(const ProgramRequest& request, int64_t n_out, Range wanted,
                                int64_t n_in, const Bands& bands) {
    set_output(request, n_out, wanted);
    add_input(request.input, n_in, bands);
}

template <class T>
void GridGradient<T>::set_output(const ProgramRequest& request, int64_t n_out, Range wanted) {
    dy_ = std::make_unique<InputPort<T>>(request.output, n_out, wanted);
    outside_ = OutsideCounts(frame_.queue.n_thread(), n_out);
}

template <class T>
void GridGradient<T>::add_input(const SphereDomain& domain, int64_t n_in, const Bands& bands) {
    inputs_.push_back({std::make_unique<OutputPort<T>>(domain, n_in, bands), bands});
}

template <class T>
void GridGradient<T>::set_stages(const MasterWeights& master, int64_t n_block,
                                 std::string_view first) {
    for (const MasterWeights::Entry& entry : master.entries()) {
        int64_t stage = entry.name.starts_with(first) ? 0 : n_block + 1;
        for (int64_t i = 0; i < n_block; ++i) {
            if (entry.name.starts_with("blocks." + std::to_string(i) + ".")) stage = n_block - i;
        }
        stages_.push_back(static_cast<int>(stage));
    }
}

template <class T>
void GridGradient<T>::connect() {
    program_->connect();
    dy_->connect(frame_);
    for (Input& input : inputs_) input.port->connect(frame_, input.bands);
    connect_layers();
}

template <class T>
bool GridGradient<T>::evaluate(bool alive) {
    is_evaluated_ = program_->evaluate(alive);
    return is_evaluated_;
}

template <class T>
bool GridGradient<T>::backward(std::span<const Column> doutputs, std::span<const Column> dinputs,
                               bool alive, GradientSums& sums) {
    const bool is_good =
        alive && is_evaluated_ && dy_->gather(frame_, doutputs, outside_, 0).column < 0;
    is_evaluated_ = false;  // one backward for each
    // As in evaluate(), no rank computes with the values of a failed rank.
    bool is_done = on_all_ranks(frame_.comm, is_good);
    if (is_done) {
        dy_->deliver(frame_);
        is_done = go_back(!dinputs.empty(), sums);
    }
    if (!is_done) sums.poison();
    if (dinputs.empty()) return is_done;
    for (Input& input : inputs_) {
        const auto n = static_cast<size_t>(input.port->n_channel());
        if (is_done) {
            input.port->deliver(frame_);
            input.port->scatter_some(frame_, dinputs.first(n));
        } else {
            for (const Column& column : dinputs.first(n)) {
                if (column.data) input.port->fill_nan({&column, 1});
            }
        }
        dinputs = dinputs.subspan(n);
    }
    return is_done;
}

template <class T>
int64_t GridGradient<T>::bytes() const {
    int64_t n = program_->bytes() + dy_->bytes() + scratch_.bytes() + layer_bytes();
    for (const Input& input : inputs_) n += input.port->bytes();
    return n;
}

template <class T>
std::vector<LayerCost> GridGradient<T>::costs() const {
    std::vector<LayerCost> list = program_->costs();
    const auto add = [&](const char* name, const auto& port) {
        const NeighborExchange& exchange = port.exchange();
        list.push_back({name, 0, 0,
                        exchange.n_item_sent() * port.n_channel() * static_cast<int64_t>(sizeof(T)),
                        exchange.collectives(), exchange.n_message()});
    };
    list.push_back({"status of gradients", 0, 0, static_cast<int64_t>(sizeof(int64_t)), 1, 0});
    add("rows of the output's gradient", *dy_);
    add_layer_costs(list);
    for (const Input& input : inputs_) add("rows of the input's gradient", *input.port);
    return list;
}

template <class T>
std::vector<std::string> GridGradient<T>::notes() const {
    std::vector<std::string> notes = program_->notes();
    notes.push_back(
        "gradients: the residual stream in front of every block is kept, the rest is computed "
        "again");
    return notes;
}

template class GridGradient<float>;
template class GridGradient<double>;

}  // namespace surrogate::impl::sphere
