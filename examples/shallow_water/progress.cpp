// SPDX-License-Identifier: Apache-2.0
// The file contains 8 byte little-endian numbers: Header; initial [3][n_lat][n_lon]; with has_state
// the coefficients [3][m][l] complex; with has_emulated [3][n_lat][n_lon].
#include "progress.hpp"

#include <algorithm>
#include <cstring>

#include "shared_file.hpp"
#include "stop.hpp"

namespace shallow_water {

namespace {

struct Header {
    char kind[8] = {'s', 'w', 'a', 't', 'e', 'r', '0', '1'};
    int64_t n_lat = 0, n_lon = 0, n_degree = 0;
    double dt_s = 0;
    int64_t start_hour = 0, hour = 0, has_state = 0, has_emulated = 0;
};

Header header_of(const Solver& solver, const Progress& progress) {
    const Resolution& r = solver.layout().resolution();
    Header header;
    header.n_lat = r.n_lat;
    header.n_lon = r.n_lon;
    header.n_degree = r.n_degree;
    header.dt_s = solver.dt_s();
    header.start_hour = progress.start_hour;
    header.hour = progress.hour;
    header.has_state = progress.has_state;
    header.has_emulated = progress.has_emulated;
    return header;
}

template <class T>
void append(const T* values, std::size_t n, std::vector<char>* bytes) {
    const std::size_t at = bytes->size();
    bytes->resize(at + n * sizeof(T));
    if (n > 0) std::memcpy(bytes->data() + at, values, n * sizeof(T));
}

void append_fields(const Layout& layout, const Fields& fields, std::vector<char>* bytes) {
    for (int64_t f = 0; f < n_field; ++f) {
        const std::vector<double> all = layout.gather_rows(fields.data() + f * layout.n_point());
        append(all.data(), all.size(), bytes);
    }
}

/// Appends the coefficients of all ranks on rank 0, by order.
void append_state(const Layout& layout, const State& state, std::vector<char>* bytes) {
    const auto n_degree = static_cast<std::size_t>(layout.resolution().n_degree);
    std::vector<int> count, at;
    std::vector<int64_t> orders;  // in the order of the messages
    for (int r = 0; r < layout.size(); ++r) {
        at.push_back(static_cast<int>(2 * n_degree * orders.size()));
        orders.insert(orders.end(), layout.orders(r).begin(), layout.orders(r).end());
        count.push_back(static_cast<int>(2 * n_degree * layout.orders(r).size()));
    }
    const std::size_t n_own = layout.orders().size() * n_degree;
    const std::size_t n_all = n_degree * n_degree;
    std::vector<Complex> found(n_all), sorted(layout.rank() == 0 ? n_all : 0);
    for (std::size_t f = 0; f < n_field; ++f) {
        MPI_Gatherv(state.data() + f * n_own, static_cast<int>(2 * n_own), MPI_DOUBLE, found.data(),
                    count.data(), at.data(), MPI_DOUBLE, 0, layout.comm());
        for (std::size_t i = 0; i < orders.size() && !sorted.empty(); ++i)
            std::copy_n(found.data() + i * n_degree, n_degree,
                        sorted.data() + static_cast<std::size_t>(orders[i]) * n_degree);
        append(sorted.data(), sorted.size(), bytes);
    }
}

/// Reads values from a file's bytes.
class Reader {
public:
    Reader(const std::vector<char>& bytes, std::string path)
        : bytes_(bytes), path_(std::move(path)) {}

    template <class T>
    void take(T* values, std::size_t n) {
        if (bytes_.size() - at_ < n * sizeof(T)) throw Stop(path_ + " is truncated");
        std::memcpy(values, bytes_.data() + at_, n * sizeof(T));
        at_ += n * sizeof(T);
    }
    void finish() const {
        if (at_ != bytes_.size()) throw Stop(path_ + " is longer than its contents");
    }

private:
    const std::vector<char>& bytes_;
    std::string path_;
    std::size_t at_ = 0;
};

void take_fields(const Layout& layout, Reader& reader, Fields* fields) {
    const Resolution& r = layout.resolution();
    std::vector<double> all(static_cast<std::size_t>(r.n_lat * r.n_lon));
    for (int64_t f = 0; f < n_field; ++f) {
        reader.take(all.data(), all.size());
        std::copy_n(all.data() + layout.first_row() * r.n_lon, layout.n_point(),
                    fields->data() + f * layout.n_point());
    }
}

void take_state(const Layout& layout, Reader& reader, State* state) {
    const auto n_degree = static_cast<std::size_t>(layout.resolution().n_degree);
    std::vector<Complex> all(n_degree * n_degree);
    Complex* to = state->data();
    for (std::size_t f = 0; f < n_field; ++f) {
        reader.take(all.data(), all.size());
        for (const int64_t m : layout.orders())
            to = std::copy_n(all.data() + static_cast<std::size_t>(m) * n_degree, n_degree, to);
    }
}

void check_header(const Header& found, const Header& expected, const std::string& path) {
    if (std::memcmp(found.kind, expected.kind, sizeof found.kind) != 0)
        throw Stop(path + " was not written by -save");
    const auto text = [](const Header& h) {
        return std::to_string(h.n_lat) + " x " + std::to_string(h.n_lon) + ", L " +
               std::to_string(h.n_degree) + ", dt " + std::to_string(h.dt_s) + " s";
    };
    if (text(found) != text(expected))
        throw Stop(path + " holds a run of " + text(found) + ", this one has " + text(expected));
}

}  // namespace

void save(const Solver& solver, const Progress& progress, const std::string& path) {
    const Layout& layout = solver.layout();
    const Header header = header_of(solver, progress);
    std::vector<char> bytes;
    append(&header, 1, &bytes);
    append_fields(layout, progress.initial, &bytes);
    if (progress.has_state) append_state(layout, progress.state, &bytes);
    if (progress.has_emulated) append_fields(layout, progress.emulated, &bytes);
    write_shared(layout.comm(), path, bytes);
}

Progress restart(const Solver& solver, const std::string& path) {
    const Layout& layout = solver.layout();
    const std::vector<char> bytes = read_shared(layout.comm(), path);
    Reader reader(bytes, path);
    Progress progress;
    Header header;
    reader.take(&header, 1);
    check_header(header, header_of(solver, progress), path);
    progress.start_hour = header.start_hour;
    progress.hour = header.hour;
    progress.has_state = header.has_state != 0;
    progress.has_emulated = header.has_emulated != 0;
    progress.initial = progress.emulated = solver.new_fields();
    progress.state = solver.new_state();
    take_fields(layout, reader, &progress.initial);
    if (progress.has_state) take_state(layout, reader, &progress.state);
    if (progress.has_emulated) take_fields(layout, reader, &progress.emulated);
    reader.finish();
    return progress;
}

}  // namespace shallow_water
