// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "libsurrogate/src/plan/device/ports.hpp"
#include "libsurrogate/src/plan/device/staging.hpp"

namespace surrogate::impl {

using kernels::Stream;

namespace {

int64_t element_size(const Column& column) {
    return column.is_double ? 8 : 4;
}

/// Elements from the first point's to the last point's, both included.
int64_t span_of(const Column& column, int64_t n_point) {
    return 1 + (n_point - 1) * std::abs(column.stride);
}

/// Returns whether b is in the rows of which a is a column: same type and stride, less than a row
/// away.
bool shares_rows(const Column& a, const Column& b) {
    if (!b.is_on_device || a.is_double != b.is_double || a.stride != b.stride) return false;
    const int64_t distance = static_cast<char*>(b.data) - static_cast<char*>(a.data);
    return std::abs(distance) < a.stride * element_size(a);
}

/// Columns of the caller's on the device, over a small piece of pinned memory. Waits on the host.
class DeviceRows {
public:
    explicit DeviceRows(DeviceContext& context)
        : context_(context),
          device_(context.device()),
          piece_(pinned_memory(device_, piece_bytes)) {}

    /// As ColumnPacker::pack.
    BadValue read(const Column& column, int64_t n_point, float* to, int64_t to_stride,
                  Stream stream, Outside* outside) {
        BadValue bad;
        const int64_t size = element_size(column), step = std::abs(column.stride) * size;
        const int64_t n_piece = points_of_piece(step);
        for (int64_t first = 0; first < n_point; first += n_piece) {
            const int64_t count = std::min(n_piece, n_point - first);
            // With a negative stride the last point lies first.
            const int64_t lowest = column.stride < 0 ? first + count - 1 : first;
            device_.copy(piece_.get(),
                         static_cast<char*>(column.data) + lowest * column.stride * size,
                         span_of(column, count) * size, stream);
            context_.collectives().wait(stream);
            Column piece = column;
            piece.data = static_cast<char*>(piece_.get()) + (first - lowest) * column.stride * size;
            BadValue found =
                gather<float>({&piece, 1}, 0, count, to + first * to_stride, to_stride, 1, outside);
            found.point += first;
            if (found.column >= 0 && bad.column < 0) bad = found;
        }
        return bad;
    }

    /// The reverse for all of `columns` that lie in the same rows as columns[leader] and fill them.
    /// from(c): numbers of column c, by from_stride.
    template <class From>
    void write(std::span<const Column> columns, size_t leader, int64_t n_point, const From& from,
               int64_t from_stride, Stream stream, BadValue& bad) {
        const Column& first_column = columns[leader];
        const int64_t step = first_column.stride * element_size(first_column);
        const int64_t n_piece = points_of_piece(step);
        for (int64_t first = 0; first < n_point; first += n_piece) {
            const int64_t count = std::min(n_piece, n_point - first);
            for (size_t c = 0; c < columns.size(); ++c) {
                if (!shares_rows(first_column, columns[c])) continue;
                Column piece = columns[c];
                piece.data =
                    static_cast<char*>(piece_.get()) +
                    (static_cast<char*>(columns[c].data) - static_cast<char*>(first_column.data));
                BadValue found = scatter<float>(from(c) + first * from_stride, from_stride, 1,
                                                {&piece, 1}, 0, count);
                if (found.column < 0 || bad.column >= 0) continue;
                bad = found;
                bad.column = static_cast<int>(c);
                bad.point += first;
            }
            device_.copy(static_cast<char*>(first_column.data) + first * step, piece_.get(),
                         count * step, stream);
            context_.collectives().wait(stream);
        }
    }

    static constexpr int64_t piece_bytes = int64_t{1} << 20;

private:
    static int64_t points_of_piece(int64_t step) {
        return std::max<int64_t>(1, piece_bytes / std::max<int64_t>(step, 8));
    }

    DeviceContext& context_;
    kernels::Device& device_;
    PinnedMemory piece_;
};

/// A column whose rows the columns fill without gaps, and which lies first in them.
bool leads_full_rows(std::span<const Column> columns, size_t leader) {
    const Column& first = columns[leader];
    int64_t n = 0;
    for (size_t c = 0; c < columns.size(); ++c) {
        if (!shares_rows(first, columns[c])) continue;
        if (columns[c].data < first.data) return false;
        for (size_t b = 0; b < c; ++b) {
            if (shares_rows(first, columns[b]) && columns[b].data == columns[c].data) return false;
        }
        ++n;
    }
    return n == first.stride;
}

class RoutedPorts final : public DevicePorts {
public:
    RoutedPorts(DeviceContext& context, const kernels::Queue& queue, int64_t n_solver,
                RowExchange<float>& rows, const DeviceColumns& columns, float* staging)
        : n_solver_(n_solver),
          rows_(rows),
          n_input_(columns.n_input),
          n_output_(columns.n_output),
          staging_(context.device(), rows.n_canonical(),
                   std::max(columns.n_input, columns.n_output), staging),
          inputs_(context.device(), columns.inputs, columns.n_input),
          outputs_(context.device(), columns.outputs, columns.n_output),
          packer_(queue),
          device_rows_(context) {
        for (size_t c = 0; c < inputs_.size(); ++c) inputs_.set(c, staging_.column(c));
        for (size_t c = 0; c < outputs_.size(); ++c) outputs_.set(c, staging_.column(c));
    }

    int64_t n_point() const override { return rows_.n_canonical(); }

    BadValue take(std::span<const Column> inputs, std::span<const Column>, bool poisoned,
                  Stream stream, std::span<Outside> outside, FirstFailure& failure) override {
        BadValue bad;
        for (size_t c = 0; c < inputs.size() && !poisoned; ++c) {
            failure.guard([&] { keep_first(read(c, inputs[c], stream, &outside[c]), c, bad); });
        }
        failure.guard([&] { rows_.to_canonical(n_input_); });
        failure.guard([&] {
            for (int64_t c = 0; c < n_input_; ++c) {
                float* const column = staging_.host(static_cast<size_t>(c));
                for (int64_t i = 0; i < n_point(); ++i)
                    column[i] = rows_.canonical()[i * n_input_ + c];
                staging_.upload(static_cast<size_t>(c), stream);
            }
            inputs_.write(stream);
            outputs_.write(stream);
        });
        return bad;
    }

    BadValue give(std::span<const Column> outputs, bool alive, Stream stream,
                  FirstFailure& failure) override {
        constexpr float nan = std::numeric_limits<float>::quiet_NaN();
        failure.guard([&] {
            if (alive) download();
        });
        if (!alive || failure) {
            std::fill_n(rows_.canonical(), n_point() * n_output_, nan);
        }
        failure.guard([&] { rows_.to_solver(n_output_); });
        if (!alive || failure) std::fill_n(rows_.solver(), n_solver_ * n_output_, nan);
        BadValue bad;
        for (size_t c = 0; c < outputs.size(); ++c) {
            failure.guard([&] { write(outputs, c, alive, stream, bad); });
        }
        return bad;
    }

    bool is_enqueued(std::span<const Column>, std::span<const Column>) const override {
        return false;
    }

    void require_usable(std::span<const Column> outputs) const override {
        for (size_t c = 0; c < outputs.size() && n_solver_ > 0; ++c) {
            if (!outputs[c].is_on_device || leader_of(outputs, c) < outputs.size()) continue;
            throw Error(Status::not_supported,
                        "output " + std::to_string(c) + " has stride " +
                            std::to_string(outputs[c].stride) +
                            " between numbers that are not outputs, expected no gaps on a device "
                            "with reproducible=true: stride 1, or the columns of one array that "
                            "together fill its rows");
        }
    }

    int64_t device_bytes() const override { return 0; }
    int64_t host_bytes() const override {
        return staging_.pinned_bytes() + DeviceRows::piece_bytes + rows_.bytes();
    }

private:
    /// The column in whose full rows column c lies; the number of columns if there is none.
    static size_t leader_of(std::span<const Column> columns, size_t c) {
        for (size_t leader = 0; leader < columns.size(); ++leader) {
            if (columns[leader].is_on_device && shares_rows(columns[c], columns[leader]) &&
                leads_full_rows(columns, leader))
                return leader;
        }
        return columns.size();
    }

    BadValue read(size_t c, const Column& column, Stream stream, Outside* outside) {
        float* const to = rows_.solver() + c;
        return column.is_on_device
                   ? device_rows_.read(column, n_solver_, to, n_input_, stream, outside)
                   : packer_.pack(column, n_solver_, to, n_input_, outside);
    }

    void download() {
        staging_.download(
            outputs_.size(), [](size_t) { return true; },
            [&](size_t c) {
                const float* const column = staging_.host(c);
                for (int64_t i = 0; i < n_point(); ++i)
                    rows_.canonical()[i * n_output_ + static_cast<int64_t>(c)] = column[i];
            });
    }

    void write(std::span<const Column> outputs, size_t c, bool alive, Stream stream,
               BadValue& bad) {
        const auto from = [&](size_t column) { return rows_.solver() + column; };
        BadValue found;
        if (outputs[c].is_on_device) {
            if (leader_of(outputs, c) == c)
                device_rows_.write(outputs, c, n_solver_, from, n_output_, stream, found);
        } else {
            keep_first(packer_.unpack(from(c), n_output_, outputs[c], n_solver_), c, found);
        }
        if (alive && bad.column < 0) bad = found;
    }

    int64_t n_solver_;
    RowExchange<float>& rows_;
    int64_t n_input_, n_output_;
    DeviceStaging staging_;
    ColumnTable inputs_, outputs_;
    ColumnPacker packer_;
    DeviceRows device_rows_;
};

}  // namespace

std::unique_ptr<DevicePorts> routed_ports(DeviceContext& context, const kernels::Queue& queue,
                                          int64_t n_solver, RowExchange<float>& rows,
                                          const DeviceColumns& columns, float* staging) {
    return std::make_unique<RoutedPorts>(context, queue, n_solver, rows, columns, staging);
}

}  // namespace surrogate::impl
