// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "coupling/timeloop/checkpoint.hpp"
#include "coupling/timeloop/checkpoint_seal.hpp"
#include "coupling/timeloop/checkpoint_state.hpp"
#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

namespace {

/// Opens a file after its whole content was compared with the hash in its header. Collective.
void open_verified(surrogate_context* context, const std::string& path,
                   std::optional<h5::DiskFile>* file) {
    Seal seal;
    agreed(context, [&] {
        file->emplace(path, h5::DiskFile::read_only, path);
        seal = read_seal(**file, path);
    });
    const uint64_t found = content_hash(context, **file, seal.file_bytes);
    agreed(context, [&] {
        if (found != seal.content_hash)
            fail(SURROGATE_BAD_FILE,
                 "'" + path + "' has been altered: the checksum of its content is wrong");
    });
}

template <class Part, class Name>
const Part& named(const std::vector<Part>& parts, const Name& has_name) {
    return *std::find_if(parts.begin(), parts.end(), has_name);
}

/// Copies the content of a file into the order of the expected content.
void take_over(const CheckpointContent& found, CheckpointContent* content) {
    content->time_s = found.time_s;
    content->step = found.step;
    content->n_skip = found.n_skip;
    for (ExpectedIntegral& own : content->integrals)
        own = named(found.integrals, [&](const auto& other) { return other.name == own.name; });
    for (PointsContent& own : content->points)
        own = named(found.points, [&](const auto& other) { return other.group == own.group; });
    for (FieldContent& own : content->fields)
        own = named(found.fields, [&](const auto& other) { return other.name == own.name; });
}

/// Compares the content of the file with the expected content, and sets times, integrals and
/// offsets from the file.
void read_head(h5::DiskFile* file, const std::string& path, CheckpointContent* content) {
    const CheckpointContent found = read_content(file);
    const std::string text = differences(found, *content);
    if (!text.empty())
        fail(SURROGATE_INVALID_ARGUMENT,
             "checkpoint '" + path + "' is not one of this time loop:" + text);
    take_over(found, content);
}

std::string text_of(int64_t id) {
    return "id " + std::to_string(id);
}
std::string text_of(double x) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", x);
    return text;
}
template <class T>
std::string text_of(const T* row, int64_t n_column) {
    std::string text;
    for (int64_t i = 0; i < n_column; ++i) text += (i > 0 ? ", " : "") + text_of(row[i]);
    return "(" + text + ")";
}

/// Reads this rank's ranges of rows.
class RowReader {
public:
    RowReader(const CheckpointState& state, const h5::DiskFile& file)
        : state_(state), file_(file), found_(state.largest_range()), own_(state.largest_range()) {}

    /// Compares rows of type T in the file with the local points. The error names the first row
    /// that differs. Collective.
    template <class T>
    void compare(const Rows& rows, size_t group, const T* local) {
        if (rows.n_byte() == 0) return;
        const Ordering& order = state_.order(group);
        order.to_canonical(rows.row_bytes(), local, own_.data());
        agreed(state_.context(), [&] {
            read(rows, group);
            const auto* found = reinterpret_cast<const T*>(found_.data());
            const auto* own = reinterpret_cast<const T*>(own_.data());
            const int64_t n = order.n() * rows.n_column;
            for (int64_t i = 0; i < n; ++i) {
                if (found[i] == own[i]) continue;
                const int64_t row = i / rows.n_column, at = row * rows.n_column;
                fail(SURROGATE_INVALID_ARGUMENT,
                     "the points are not those of the checkpoint: point " +
                         std::to_string(order.first() + row) + " of its order is " +
                         text_of(found + at, rows.n_column) + " in the file, " +
                         text_of(own + at, rows.n_column) + " here");
            }
        });
    }

    /// Reads rows and sends them to the ranks of their points. A rank that fails still takes part
    /// in the exchange. Collective.
    void restore(const Rows& rows, size_t group, void* local) {
        if (rows.n_byte() == 0) return;
        if (status_ == SURROGATE_SUCCESS)
            status_ = guarded(state_.context(), [&] { read(rows, group); });
        state_.order(group).to_local(rows.row_bytes(), found_.data(), local);
    }

    /// Returns the first error of this rank.
    surrogate_status status() const { return status_; }

private:
    void read(const Rows& rows, size_t group) {
        file_.read(state_.offset(rows, group), found_.data(), state_.range_bytes(rows, group));
    }

    const CheckpointState& state_;
    const h5::DiskFile& file_;
    std::vector<std::byte> found_, own_;
    surrogate_status status_ = SURROGATE_SUCCESS;
};

void compare_points(const CheckpointState& state, RowReader* reader) {
    for (size_t group = 0; group < state.content.points.size(); ++group) {
        const PlanPoints& points = state.points(group);
        const PointsContent& content = state.content.points[group];
        reader->compare(content.id, group, points.points.global_id);
        std::vector<double> x;
        agreed(state.context(), [&] { x = points.x(); });
        reader->compare(content.x, group, x.data());
    }
}

}  // namespace

void restore_checkpoint(surrogate_context* context, const surrogate_plan* plan,
                        const std::string& path, Snapshot* snapshot, CheckpointOrders* orders) {
    CheckpointState state(context, plan, *snapshot, path, orders);
    std::optional<h5::DiskFile> file;
    open_verified(context, path, &file);
    agreed(context, [&] {
        if (state.rank() == 0) read_head(&*file, path, &state.content);
    });
    state.share_content();
    std::unique_ptr<RowReader> reader;
    std::vector<std::vector<std::byte>> values;
    agreed(context, [&] {
        reader = std::make_unique<RowReader>(state, *file);
        for (const StateField& field : snapshot->fields) values.emplace_back(field.values.size());
    });
    compare_points(state, reader.get());
    for (size_t i = 0; i < values.size(); ++i)
        reader->restore(state.content.fields[i].rows, state.group_of(snapshot->fields[i]),
                        values[i].data());
    check(surrogate_context_agree(context, reader->status(), nullptr));

    snapshot->time_s = state.content.time_s;
    snapshot->step = state.content.step;
    snapshot->n_skip = state.content.n_skip;
    snapshot->integrals.swap(state.content.integrals);
    for (size_t i = 0; i < values.size(); ++i) snapshot->fields[i].values.swap(values[i]);
}

}  // namespace surrogate::timeloop
