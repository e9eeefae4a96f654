// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/core/communicator.hpp"

#include <cstring>
#include <new>
#include <string_view>
#include <vector>

namespace surrogate::impl {

void Communicator::all_reduce_max(std::span<float> values) {
    count(static_cast<int64_t>(values.size_bytes()));
    do_all_reduce(values.data(), std::ssize(values), Type::float32, Reduction::max);
}

void Communicator::all_reduce_max(std::span<double> values) {
    count(static_cast<int64_t>(values.size_bytes()));
    do_all_reduce(values.data(), std::ssize(values), Type::float64, Reduction::max);
}

void Communicator::all_reduce_max(std::span<int64_t> values) {
    count(static_cast<int64_t>(values.size_bytes()));
    do_all_reduce(values.data(), std::ssize(values), Type::int64, Reduction::max);
}

void Communicator::all_reduce_sum(std::span<float> values) {
    count(static_cast<int64_t>(values.size_bytes()));
    do_all_reduce(values.data(), std::ssize(values), Type::float32, Reduction::sum);
}

void Communicator::all_reduce_sum(std::span<double> values) {
    count(static_cast<int64_t>(values.size_bytes()));
    do_all_reduce(values.data(), std::ssize(values), Type::float64, Reduction::sum);
}

void Communicator::all_reduce_sum(std::span<int64_t> values) {
    count(static_cast<int64_t>(values.size_bytes()));
    do_all_reduce(values.data(), std::ssize(values), Type::int64, Reduction::sum);
}

int64_t Communicator::begin_reduce_sum(std::span<float> values) {
    count(static_cast<int64_t>(values.size_bytes()));
    return do_begin_reduction(values.data(), std::ssize(values), Type::float32, Reduction::sum);
}

int64_t Communicator::begin_reduce_sum(std::span<double> values) {
    count(static_cast<int64_t>(values.size_bytes()));
    return do_begin_reduction(values.data(), std::ssize(values), Type::float64, Reduction::sum);
}

int64_t Communicator::begin_reduce_sum(std::span<int64_t> values) {
    count(static_cast<int64_t>(values.size_bytes()));
    return do_begin_reduction(values.data(), std::ssize(values), Type::int64, Reduction::sum);
}

int64_t Communicator::begin_reduce_max(std::span<int64_t> values) {
    count(static_cast<int64_t>(values.size_bytes()));
    return do_begin_reduction(values.data(), std::ssize(values), Type::int64, Reduction::max);
}

void Communicator::broadcast(void* data, int64_t n_byte, int root) {
    count(rank() == root ? n_byte : 0);
    do_broadcast(data, n_byte, root);
}

void Communicator::all_gather(const void* from, void* to, int64_t n_byte) {
    count(n_byte);
    do_all_gather(from, to, n_byte);
}

void Communicator::all_gather_v(const void* from, void* to, std::span<const int64_t> n_bytes) {
    count(n_bytes[static_cast<size_t>(rank())]);
    do_all_gather_v(from, to, n_bytes);
}

void Communicator::all_to_all_counts(std::span<const int64_t> to_each,
                                     std::span<int64_t> from_each) {
    count(static_cast<int64_t>(to_each.size_bytes()));
    do_all_to_all_counts(to_each.data(), from_each.data());
}

void Communicator::all_to_all(const void* from, std::span<const int64_t> n_send, void* to,
                              std::span<const int64_t> n_receive, int64_t row_bytes) {
    int64_t n_row = 0;
    for (int64_t n : n_send) n_row += n;
    count(n_row * row_bytes);
    do_all_to_all(from, n_send, to, n_receive, row_bytes);
}

void Communicator::begin_exchange(std::span<const Message> send, std::span<const Message> receive) {
    int64_t n_byte = 0;
    for (const Message& message : send) n_byte += message.n_byte;
    count(n_byte);
    do_begin_exchange(send, receive);
}

void Communicator::finish_exchange() {
    do_finish_exchange();
}

void Communicator::begin_ring_shift(const void* to_next, int64_t n_send, void* from_previous,
                                    int64_t n_receive) {
    if (size() == 1) {
        if (n_send > 0) std::memcpy(from_previous, to_next, static_cast<size_t>(n_send));
        begin_exchange({}, {});
        return;
    }
    // Sent data is not written to: Message serves both directions.
    const Message send{(rank() + 1) % size(), const_cast<void*>(to_next), n_send};
    const Message receive{(rank() + size() - 1) % size(), from_previous, n_receive};
    begin_exchange(std::span(&send, 1), std::span(&receive, 1));
}

void Communicator::reserve_ring_shift(int64_t n_byte) {
    const Message longest{0, nullptr, n_byte};
    reserve_messages(std::span(&longest, 1), std::span(&longest, 1));
}

int64_t Communicator::exclusive_sum(int64_t value) {
    std::vector<int64_t> values;
    agree([&] { values.resize(static_cast<size_t>(size())); });
    all_gather(&value, values.data(), sizeof value);
    int64_t sum = 0;
    for (int r = 0; r < rank(); ++r) sum += values[static_cast<size_t>(r)];
    return sum;
}

namespace {

/// Text of a failure, in a buffer that needs no memory: the failure may be that there is none.
struct AgreedStatus {
    Status status = Status::success;
    bool is_echo = false;
    char text[2000] = "";

    void set(Status new_status, const char* new_text, bool echo = false) {
        status = new_status;
        is_echo = echo;
        std::strncpy(text, new_text, sizeof text - 1);
    }
};

/// Returns whether a text begins as "rank 12: ".
bool names_a_rank(std::string_view text) {
    if (!text.starts_with("rank ")) return false;
    const size_t end = text.find_first_not_of("0123456789", 5);
    return end != std::string_view::npos && end > 5 && text[end] == ':';
}

void run_guarded(const void* context, void (*work)(const void*), AgreedStatus& outcome) {
    try {
        work(context);
    } catch (const EchoedError& error) {
        outcome.set(error.status(), error.what(), true);
    } catch (const Error& error) {
        outcome.set(error.status(), error.what());
    } catch (const std::bad_alloc&) {
        outcome.set(Status::no_memory, "out of memory");
    } catch (const std::exception& error) {
        outcome.set(Status::internal, error.what());
    }
}

}  // namespace

void Communicator::run_agreed(const void* context, void (*work)(const void*)) {
    AgreedStatus outcome;
    run_guarded(context, work, outcome);
    // The largest of (size - rank) over failing ranks names the first of them, and those that know
    // the cause stand above the others; 0 means that none failed.
    int64_t culprit = outcome.status == Status::success ? 0
                      : outcome.is_echo                 ? size() - rank()
                                                        : 2 * size() - rank();
    do_all_reduce(&culprit, 1, Type::int64, Reduction::max);
    if (culprit == 0) return;
    const int first = static_cast<int>((culprit > size() ? 2 * size() : size()) - culprit);
    do_broadcast(&outcome, sizeof outcome, first);
    const std::string text(outcome.text);
    const bool named = size() == 1 || names_a_rank(text);
    throw Error(outcome.status, named ? text : "rank " + std::to_string(first) + ": " + text);
}

namespace {

class SelfCommunicator final : public Communicator {
public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    const char* transport() const override { return "none"; }

protected:
    void do_all_reduce(void*, int64_t, Type, Reduction) override {}
    int64_t do_begin_reduction(void*, int64_t, Type, Reduction) override { return 0; }
    void do_finish_reduction(int64_t) override {}
    void do_broadcast(void*, int64_t, int) override {}
    void do_all_gather(const void* from, void* to, int64_t n_byte) override {
        if (n_byte > 0) std::memcpy(to, from, static_cast<size_t>(n_byte));
    }
    void do_all_gather_v(const void* from, void* to, std::span<const int64_t> n_bytes) override {
        do_all_gather(from, to, n_bytes[0]);
    }
    void do_all_to_all_counts(const int64_t* to_each, int64_t* from_each) override {
        *from_each = *to_each;
    }
    void do_all_to_all(const void* from, std::span<const int64_t> n_send, void* to,
                       std::span<const int64_t>, int64_t row_bytes) override {
        do_all_gather(from, to, n_send[0] * row_bytes);
    }
    // A rank alone has no neighbors: what it needs of itself it copies without messages.
    void do_begin_exchange(std::span<const Message>, std::span<const Message>) override {}
    void do_finish_exchange() override {}
};

}  // namespace

std::unique_ptr<Communicator> self_communicator() {
    return std::make_unique<SelfCommunicator>();
}

}  // namespace surrogate::impl
