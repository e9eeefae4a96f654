// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/layers/pass_list.hpp"

namespace surrogate::impl {

namespace {

bool is_same(const DeviceReduction& a, const DeviceReduction& b) {
    return a.kind == b.kind && a.values == b.values && a.count == b.count;
}
bool is_same(const DeviceGather& a, const DeviceGather& b) {
    return a.values == b.values && a.n_byte == b.n_byte;
}
bool is_same(const DeviceParts& a, const DeviceParts& b) {
    return a.data == b.data && std::ranges::equal(a.n_bytes, b.n_bytes);
}
bool is_same(const DeviceExchange& a, const DeviceExchange& b) {
    return is_same(a.given, b.given) && is_same(a.taken, b.taken);
}

template <class Operation>
void add_once(std::vector<Operation>& list, const Operation& operation) {
    const auto is_known = [&](const Operation& known) { return is_same(known, operation); };
    if (std::ranges::none_of(list, is_known)) list.push_back(operation);
}

}  // namespace

void PassList::reduce(const DeviceReduction& reduction) {
    if (measures_) return;
    add_once(reductions_, reduction);
    add([reduction](DeviceSteps& steps) { steps.reduce(reduction); });
}

void PassList::gather(const DeviceGather& gather) {
    if (measures_) return;
    add_once(gathers_, gather);
    add([gather](DeviceSteps& steps) { steps.gather(gather); });
}

void PassList::exchange(const DeviceExchange& exchange) {
    if (measures_) return;
    add_once(exchanges_, exchange);
    add([exchange](DeviceSteps& steps) { steps.exchange(exchange); });
}

/// Allocates what was measured and clears it: rows and channels without values are operands whose
/// weights are 0, and must be finite.
void PassList::take_memory() {
    memory_ = device_memory(device_, size_);
    if (memory_) {
        stream_ = DeviceStream(device_, device_.create_stream());
        device_.clear(memory_.get(), size_, stream_.get());
    }
    size_ = 0;
}

void PassList::copy(void* to, const void* from, size_t n_byte) {
    const auto size = static_cast<int64_t>(n_byte);
    sources_.push_back(pinned_memory(device_, size));
    std::memcpy(sources_.back().get(), from, n_byte);
    device_.copy(to, sources_.back().get(), size, stream_.get());
}

void PassList::end_tables() {
    if (stream_) device_.synchronize(stream_.get());
    sources_.clear();
    stream_ = {};
}

}  // namespace surrogate::impl
