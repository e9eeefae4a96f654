// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/plan/device/staging.hpp"

#include <algorithm>
#include <string>

#include "kernels/base/error.hpp"

namespace surrogate::impl {

using kernels::DeviceColumn;
using kernels::Stream;

DeviceStaging::DeviceStaging(kernels::Device& device, int64_t n_point, int64_t n_column,
                             float* on_device)
    : device_(device),
      n_point_(n_point),
      n_column_(n_column),
      on_device_(on_device),
      host_(pinned_memory(device, 4 * n_point * n_column)) {
    for (DeviceStream& stream : copies_) stream = DeviceStream(device, device.create_stream());
}

void DeviceStaging::upload(size_t c, Stream stream) {
    if (n_point_ > 0) device_.copy(on_device(c), host(c), 4 * n_point_, stream);
}

void DeviceStaging::clear(Stream stream) {
    if (pinned_bytes() > 0) device_.clear(on_device_, pinned_bytes(), stream);
}

void DeviceStaging::start_download(size_t c, size_t turn) {
    if (n_point_ > 0) device_.copy(host(c), on_device(c), 4 * n_point_, copies_[turn].get());
}

void DeviceStaging::finish_download(size_t turn) {
    device_.synchronize(copies_[turn].get());
}

ColumnTable::ColumnTable(kernels::Device& device, DeviceColumn* on_device, int64_t n_column)
    : device_(device), on_device_(on_device) {
    if (n_column > kernels::max_columns) {
        throw kernels::Error(kernels::Status::not_supported,
                             "backend 'cuda' takes up to " + std::to_string(kernels::max_columns) +
                                 " columns of inputs or outputs, the network has " +
                                 std::to_string(n_column) + "; backend 'simd' has no such limit");
    }
    columns_.resize(static_cast<size_t>(n_column));
}

void ColumnTable::set(size_t c, const DeviceColumn& column) {
    if (columns_[c] == column) return;
    columns_[c] = column;
    has_changed_ = true;
}

void ColumnTable::write(Stream stream) {
    if (!has_changed_) return;
    device_.write(on_device_, columns_.data(),
                  std::ssize(columns_) * static_cast<int64_t>(sizeof(DeviceColumn)), stream);
    has_changed_ = false;
}

DeviceColumn described(const Column& column) {
    return {column.data, column.stride, column.mean, column.std, column.is_double ? 1 : 0,
            column.min,  column.max};
}

void keep_first(const BadValue& found, size_t c, BadValue& bad) {
    if (found.column < 0 || bad.column >= 0) return;
    bad = found;
    bad.column = static_cast<int>(c);
}

template <class Work>
BadValue ColumnPacker::run(int64_t n_point, const Work& work) {
    constexpr int64_t piece = 4096;  // points: a few pages, dealt in contiguous shares
    bad_.clear();
    queue_.parallel_for((n_point + piece - 1) / piece, [&](int64_t i, int thread) {
        const int64_t first = i * piece;
        bad_.note(thread, work(first, std::min(piece, n_point - first), thread));
    });
    return bad_.first();
}

BadValue ColumnPacker::pack(const Column& column, int64_t n_point, float* to, int64_t stride,
                            Outside* outside) {
    outside_.clear();
    const BadValue bad = run(n_point, [&](int64_t first, int64_t count, int thread) {
        return gather<float>({&column, 1}, first, count, to + first * stride, stride, 1,
                             outside_.of(thread));
    });
    outside->join(outside_.join().front());
    return bad;
}

BadValue ColumnPacker::unpack(const float* from, int64_t stride, const Column& column,
                              int64_t n_point) {
    return run(n_point, [&](int64_t first, int64_t count, int) {
        return scatter<float>(from + first * stride, stride, 1, {&column, 1}, first, count);
    });
}

BadValue give_columns(DeviceStaging& staging, ColumnPacker& packer, int64_t n_row,
                      std::span<const Column> outputs, bool alive, FirstFailure& failure) {
    BadValue bad;
    if (alive) {
        failure.guard([&] {
            staging.download(
                outputs.size(), [&](size_t c) { return !outputs[c].is_on_device; },
                [&](size_t c) {
                    keep_first(packer.unpack(staging.host(c), 1, outputs[c], n_row), c, bad);
                });
        });
    }
    if (alive && !failure) return bad;
    for (const Column& column : outputs) {
        if (!column.is_on_device) fill_nan({&column, 1}, n_row);
    }
    return bad;
}

}  // namespace surrogate::impl
