// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <optional>

#include "coupling/error/file_errors.hpp"
#include "coupling/timeloop/checkpoint.hpp"
#include "coupling/timeloop/checkpoint_seal.hpp"
#include "coupling/timeloop/checkpoint_state.hpp"
#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

namespace {

/// Throws IO if the path is a pipe or a device. These cannot hold a checkpoint, and opening a pipe
/// may block.
void refuse_devices(const std::string& path) {
    std::error_code ignored;
    const auto found = std::filesystem::status(path, ignored);
    if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found) &&
        !std::filesystem::is_directory(found))
        fail(SURROGATE_IO, "'" + path + "' is not a regular file");
}

/// Writes the HDF5 file without its rows to the temporary file.
void write_layout(CheckpointContent* content, const std::string& temporary,
                  const std::string& path) {
    h5::SparseFile layout;
    lay_out(content, &layout);
    h5::DiskFile file(temporary, h5::DiskFile::write_only, path);
    layout.copy_to(&file);
}

/// Writes this rank's ranges of rows. A rank that fails still takes part in the exchanges.
class RowWriter {
public:
    RowWriter(const CheckpointState& state, const std::string& temporary, const std::string& path)
        : state_(state),
          file_(temporary, h5::DiskFile::write_only, path),
          rows_(state.largest_range()) {
        file_.require_size(state.content.file_bytes);
    }

    /// Collective.
    void write(const Rows& rows, size_t group, const void* local) {
        if (rows.n_byte() == 0) return;
        state_.order(group).to_canonical(rows.row_bytes(), local, rows_.data());
        keep([&] {
            file_.write(state_.offset(rows, group), rows_.data(), state_.range_bytes(rows, group));
        });
    }

    /// Flushes the content to disk. Returns the first error of this rank.
    surrogate_status finish() {
        keep([&] { file_.flush(); });
        return status_;
    }

private:
    template <class Work>
    void keep(const Work& work) {
        if (status_ == SURROGATE_SUCCESS) status_ = guarded(state_.context(), work);
    }

    const CheckpointState& state_;
    h5::DiskFile file_;
    std::vector<std::byte> rows_;
    surrogate_status status_ = SURROGATE_SUCCESS;
};

void write_points(const CheckpointState& state, RowWriter* writer) {
    for (size_t group = 0; group < state.content.points.size(); ++group) {
        const PointsContent& content = state.content.points[group];
        std::vector<double> x;
        agreed(state.context(), [&] { x = state.points(group).x(); });
        writer->write(content.x, group, x.data());
        writer->write(content.id, group, state.points(group).points.global_id);
    }
}

void write_rows(const CheckpointState& state, const Snapshot& snapshot,
                const std::string& temporary, const std::string& path) {
    std::optional<RowWriter> writer;
    agreed(state.context(), [&] { writer.emplace(state, temporary, path); });
    write_points(state, &*writer);
    for (size_t i = 0; i < snapshot.fields.size(); ++i) {
        const StateField& field = snapshot.fields[i];
        writer->write(state.content.fields[i].rows, state.group_of(field), field.values.data());
    }
    check(surrogate_context_agree(state.context(), writer->finish(), nullptr));
}

Seal seal_of(const CheckpointState& state, const std::string& temporary, const std::string& path) {
    std::optional<h5::DiskFile> file;
    agreed(state.context(), [&] { file.emplace(temporary, h5::DiskFile::read_only, path); });
    const uint64_t size = state.content.file_bytes;
    return {Seal::known_format, size, content_hash(state.context(), *file, size)};
}

}  // namespace

void save_checkpoint(surrogate_context* context, const surrogate_plan* plan,
                     const Snapshot& snapshot, const std::string& path, CheckpointOrders* orders) {
    CheckpointState state(context, plan, snapshot, path, orders);
    const bool is_first = state.rank() == 0;
    std::optional<file::NewFile> file;  // on rank 0; deleted after any error
    std::string temporary;
    agreed(context, [&] {
        temporary = file::temporary_of(path);
        if (!is_first) return;
        refuse_devices(path);
        with_file([&] { file.emplace(path); });
        write_layout(&state.content, temporary, path);
    });
    state.share_content();
    write_rows(state, snapshot, temporary, path);
    const Seal seal = seal_of(state, temporary, path);
    agreed(context, [&] {
        if (!is_first) return;
        h5::DiskFile(temporary, h5::DiskFile::write_only, path)
            .write(0, seal.bytes().data(), seal_bytes);
        with_file([&] { file->commit(); });
    });
}

}  // namespace surrogate::timeloop
