// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace surrogate::kernels {

/// Owns cache-line aligned, zero-filled memory on the host. All large memory of the project is
/// allocated here, through the replaceable `operator new`. A program that replaces it (the tests
/// do) observes every allocation and can make it fail. Throws std::bad_alloc.
template <class T>
class Buffer {
public:
    static constexpr std::align_val_t alignment{64};

    Buffer() = default;
    explicit Buffer(int64_t count) : count_(count), capacity_(count) {
        if (count < 0 || static_cast<uint64_t>(count) > SIZE_MAX / sizeof(T))
            throw std::bad_alloc();
        if (count == 0) return;
        data_ = static_cast<T*>(::operator new(static_cast<size_t>(count) * sizeof(T), alignment));
        for (int64_t i = 0; i < count; ++i) data_[i] = T{};
    }
    Buffer(Buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          count_(std::exchange(other.count_, 0)),
          capacity_(std::exchange(other.capacity_, 0)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(count_, other.count_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }
    ~Buffer() {
        if (data_) ::operator delete(data_, alignment);
    }

    /// Sets the number of elements. Allocates only if `count` exceeds all earlier counts; the
    /// elements are then zeros, otherwise they keep their old contents. Throws std::bad_alloc, and
    /// the buffer is then unchanged.
    void resize(int64_t count) {
        if (count > capacity_) *this = Buffer(count);
        count_ = count;
    }

    T* data() { return data_; }
    const T* data() const { return data_; }
    int64_t size() const { return count_; }
    int64_t capacity() const { return capacity_; }
    int64_t bytes() const { return capacity_ * static_cast<int64_t>(sizeof(T)); }  ///< allocated
    T& operator[](int64_t i) { return data_[i]; }
    const T& operator[](int64_t i) const { return data_[i]; }
    T* begin() { return data_; }
    T* end() { return data_ + count_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + count_; }

private:
    T* data_ = nullptr;
    int64_t count_ = 0, capacity_ = 0;
};

}  // namespace surrogate::kernels
