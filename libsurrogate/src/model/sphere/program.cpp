// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/program.hpp"

#include "libsurrogate/src/ranks/reduce.hpp"

namespace surrogate::impl::sphere {

template <class T>
GridProgram<T>::GridProgram(const ProgramRequest& request)
    : frame_{request.output.context().comm(), request.queue, request.reproducible, &dropout_,
             request.divides_rows} {
    request.input.require_whole_shift();
    request.output.require_whole_shift();
}

template <class T>
BadValue GridProgram<T>::gather(std::span<const Column> inputs, OutsideCounts& outside) {
    BadValue bad;
    size_t first = 0;
    for (auto& port : inputs_) {
        const auto n = static_cast<size_t>(port->n_channel());
        BadValue found = port->gather(frame_, inputs.subspan(first, n), outside, first);
        if (found.column >= 0 && bad.column < 0) {
            found.column += static_cast<int>(first);
            bad = found;
        }
        first += n;
    }
    return bad;
}

template <class T>
bool GridProgram<T>::evaluate(bool alive) {
    // All ranks agree first on whether the inputs are valid. No rank computes with the values of a
    // failed rank, which would be NaN, and on which the host may trap.
    if (!on_all_ranks(frame_.comm, alive)) return false;
    for (auto& port : inputs_) port->deliver(frame_);
    return run();
}

template <class T>
BadValue GridProgram<T>::scatter(std::span<const Column> outputs, bool alive) {
    if (!alive) {
        output_->fill_nan(outputs);
        return {};
    }
    output_->deliver(frame_);
    return output_->scatter(frame_, outputs);
}

template <class T>
std::vector<std::string> GridProgram<T>::notes() const {
    std::vector<std::string> notes = notes_;
    if (frame_.reproducible) {
        notes.push_back(
            "reproducible: sums over the grid are gathered by rows and added from north to south");
    }
    return notes;
}

template <class T>
void GridProgram<T>::connect_ports(const Bands& output_bands) {
    for (auto& input : inputs_) input->connect(frame_);
    output_->connect(frame_, output_bands);
}

template <class T>
void GridProgram<T>::add_port_costs(std::vector<LayerCost>& list, bool are_inputs) const {
    const auto add = [&](const char* name, const auto& port) {
        const NeighborExchange& exchange = port.exchange();
        list.push_back({name, 0, 0,
                        exchange.n_item_sent() * port.n_channel() * static_cast<int64_t>(sizeof(T)),
                        exchange.collectives(), exchange.n_message()});
    };
    if (are_inputs) {
        // One number a rank: whether its fields can be used.
        list.push_back({"status of inputs", 0, 0, static_cast<int64_t>(sizeof(int64_t)), 1, 0});
        for (const auto& input : inputs_) add("rows of the input", *input);
    } else {
        add("rows of the output", *output_);
    }
}

template <class T>
int64_t GridProgram<T>::port_bytes() const {
    int64_t n = output_->bytes() + scratch_.bytes();
    for (const auto& input : inputs_) n += input->bytes();
    return n;
}

template class GridProgram<float>;
template class GridProgram<double>;

}  // namespace surrogate::impl::sphere
