// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "libsurrogate/src/device/device_collectives.hpp"
#include "tests/support/null_device.hpp"

namespace surrogate::test {

/// Records what a program gives to a device: allocations, copies without their contents, kernels
/// with their arguments, reductions, gathers and exchanges. Pointers into device memory are
/// recorded as allocation and offset, so that two programs that enqueue the same work have equal
/// logs.
class DeviceLog {
public:
    /// The log that kernels of logging_plugin() write to; one at a time.
    static DeviceLog& current() {
        static DeviceLog log;
        return log;
    }

    void clear() { lines_.clear(); }
    const std::vector<std::string>& lines() const { return lines_; }
    /// Returns an FNV-1a hash of all lines; copies that follow each other may have any order.
    uint64_t hash() const {
        std::vector<std::string> lines = lines_;
        const auto is_copy = [](const std::string& line) { return line.starts_with("copy "); };
        for (auto begin = lines.begin(); begin != lines.end();) {
            begin = std::find_if(begin, lines.end(), is_copy);
            const auto end = std::find_if_not(begin, lines.end(), is_copy);
            std::sort(begin, end);
            begin = end;
        }
        uint64_t hash = offset_basis;
        for (const std::string& line : lines) hash = hashed(hash, line.data(), line.size());
        return hash;
    }

    void add_memory(void* memory, int64_t n_byte) {
        memory_[memory] = {n_memory_++, n_byte};
        add("allocate " + std::to_string(n_byte));
    }
    void remove_memory(void* memory) { memory_.erase(memory); }
    /// Allocations are numbered from 0 again.
    void restart() {
        n_memory_ = 0;
        memory_.clear();
        clear();
    }

    void add(std::string line) { lines_.push_back(std::move(line)); }
    template <class T>
    std::string text_of(const T& value) const {
        if constexpr (std::is_pointer_v<T>) {
            return place_of(value);
        } else if constexpr (std::is_enum_v<T>) {
            return std::to_string(static_cast<int64_t>(value));
        } else if constexpr (std::is_arithmetic_v<T>) {
            return std::to_string(value);
        } else {
            static_assert(std::is_trivially_copyable_v<T>);
            T copy = value;
            __builtin_clear_padding(&copy);
            std::string text = std::string("(") + typeid(T).name();
            for (size_t i = 0; i < sizeof copy; i += 8) {
                uint64_t word = 0;
                std::memcpy(&word, reinterpret_cast<const char*>(&copy) + i,
                            std::min<size_t>(8, sizeof copy - i));
                text += " " + text_of_word(word);
            }
            return text + ")";
        }
    }

    /// "3+256" of a pointer to byte 256 of the fourth allocation; "?" for other memory.
    std::string place_of(const void* pointer) const {
        if (!pointer) return "null";
        auto next = memory_.upper_bound(const_cast<void*>(pointer));
        if (next == memory_.begin()) return "?";
        --next;
        const int64_t offset = static_cast<const char*>(pointer) -
                               static_cast<const char*>(static_cast<const void*>(next->first));
        if (offset > next->second.n_byte) return "?";
        return std::to_string(next->second.number) + "+" + std::to_string(offset);
    }

private:
    struct Memory {
        int64_t number = 0, n_byte = 0;
    };
    static constexpr uint64_t offset_basis = 14695981039346656037u;

    static uint64_t hashed(uint64_t hash, const void* data, size_t n_byte) {
        const auto* const bytes = static_cast<const unsigned char*>(data);
        for (size_t i = 0; i < n_byte; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
        return hash;
    }
    /// Words that may be addresses of unknown memory are not told apart.
    std::string text_of_word(uint64_t word) const {
        const bool may_be_address = word >> 40 >= 0x55 && word >> 47 == 0;
        return may_be_address ? place_of(reinterpret_cast<const void*>(word))
                              : std::to_string(word);
    }

    std::map<void*, Memory> memory_;
    int64_t n_memory_ = 0;
    std::vector<std::string> lines_;
};

/// A null device that logs.
class LoggingDevice final : public NullDevice {
public:
    void* allocate(int64_t n_byte) override {
        void* const memory = NullDevice::allocate(n_byte);
        DeviceLog::current().add_memory(memory, n_byte);
        return memory;
    }
    void release(void* memory) noexcept override {
        DeviceLog::current().remove_memory(memory);
        NullDevice::release(memory);
    }
    void release_pinned(void* memory) noexcept override { release(memory); }
    void copy(void* to, const void* from, int64_t n_byte, kernels::Stream stream) override {
        DeviceLog& log = DeviceLog::current();
        log.add("copy " + log.place_of(to) + " " + std::to_string(n_byte));
        NullDevice::copy(to, from, n_byte, stream);
    }
    void clear(void* memory, int64_t n_byte, kernels::Stream stream) override {
        DeviceLog& log = DeviceLog::current();
        log.add("clear " + log.place_of(memory) + " " + std::to_string(n_byte));
        NullDevice::clear(memory, n_byte, stream);
    }
};

/// Collectives that log and leave device memory as it is.
class LoggingCollectives final : public impl::DeviceCollectives {
public:
    std::string transport() const override { return "log"; }
    std::string reason() const override { return "nothing is sent"; }
    bool is_enqueued() const override { return true; }
    void reserve(int64_t n_byte) override { log("reserve", n_byte); }
    void reserve_gather(int64_t n_byte) override { log("reserve gather", n_byte); }
    void reserve_exchange(int64_t n_given, int64_t n_taken) override {
        log("reserve exchange", n_given);
        log("and", n_taken);
    }
    void check() override {}
    void wait(kernels::Stream) override {}

protected:
    void do_all_reduce(void* values, int64_t count, Type type, Reduction reduction,
                       kernels::Stream) override {
        DeviceLog& log = DeviceLog::current();
        log.add("reduce " + log.place_of(values) + " " + std::to_string(count) + " " +
                log.text_of(type) + " " + log.text_of(reduction));
    }
    void do_all_gather(void* values, int64_t n_byte, kernels::Stream) override {
        DeviceLog& log = DeviceLog::current();
        log.add("gather " + log.place_of(values) + " " + std::to_string(n_byte));
    }
    void do_exchange(const impl::DeviceParts& given, const impl::DeviceParts& taken,
                     kernels::Stream) override {
        DeviceLog& log = DeviceLog::current();
        std::string line = "exchange " + log.place_of(given.data) + " " + log.place_of(taken.data);
        for (const int64_t n : given.n_bytes) line += " " + std::to_string(n);
        for (const int64_t n : taken.n_bytes) line += " " + std::to_string(n);
        log.add(line);
    }

private:
    static void log(const char* what, int64_t n) {
        DeviceLog::current().add(what + std::string(" ") + std::to_string(n));
    }
};

template <int number, class... Args>
void log_pass(const kernels::DeviceProperties&, Args... args) {
    DeviceLog& log = DeviceLog::current();
    std::string line = "kernel " + std::to_string(number);
    ((line += " " + log.text_of<std::remove_cvref_t<Args>>(args)), ...);
    log.add(line);
}

/// Kernel `number` of a table.
template <int number>
struct LoggedPass {
    template <class... Args>
    using Pass = void (*)(const kernels::DeviceProperties&, Args...);
    template <class... Args>
    operator Pass<Args...>() const {  // NOLINT: implicit as NullPass is
        return log_pass<number, Args...>;
    }
};

inline const impl::DevicePlugin& logging_plugin() {
    return plugin_of_passes<LoggingDevice, LoggedPass>();
}

}  // namespace surrogate::test
