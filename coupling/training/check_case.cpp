// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/check_case.hpp"

#include <optional>

#include "coupling/job/model_bytes.hpp"
#include "coupling/job/output_files.hpp"
#include "coupling/job/weighted_model.hpp"
#include "coupling/training/sample_domain.hpp"

namespace surrogate::tool {

namespace {

constexpr int64_t most_double_points =
    100000;  // the reference version takes about a minute for them

/// Returns the number of coordinates that the network reads from the domain; 0: none.
int64_t n_coordinate(const Model& model) {
    const auto ports = model.ports();
    return ports.front().location == SURROGATE_COORDINATES ? ports.front().n_channel : 0;
}

/// Holds one sample of a model, distributed over all ranks.
class CheckedSample {
public:
    CheckedSample(const Job& job, const Model& model, const TrainData& data, const Pair& pair)
        : job_(job),
          model_(model),
          file_(data.file(pair.file)),
          pair_(pair),
          is_weighted_(uses_point_weights(model)),
          domain_(data, job.rank(), job.size(), is_weighted_) {
        extents_ = file_.extents(pair.input.sample);
        job.agree([&] { domain_.read(pair); });
    }

    /// Creates the domain. Networks that read coordinates get the normalized numbers of `rows`,
    /// which a check case stores. Collective.
    void create_domain(const Context& context, const std::vector<float>& rows) {
        const int64_t n_axis = n_coordinate(model_);
        job_.agree([&] {
            if (n_axis == 0) return domain_.create(context, pair_);
            const auto n = static_cast<size_t>(domain_.n()), n_read = static_cast<size_t>(n_axis);
            const size_t n_channel = model_.inputs().size();
            std::vector<double> points;
            for (size_t i = 0; i < n; ++i)
                for (size_t axis = 0; axis < n_read; ++axis)
                    points.push_back(rows[i * n_channel + axis]);
            normalized_.emplace(context, matrix(points.data(), domain_.n(), n_axis),
                                domain_.ids().data());
        });
    }

    bool is_sphere() const { return file_.form().points == dataset::PointForm::sphere; }
    int64_t n_point() const { return file_.n_point(pair_.input.sample); }

    /// Returns the inputs of the network at this rank's points, one row per point.
    std::vector<float> read(const ModelChannels& channels) const {
        const auto infos = model_.inputs();
        const auto n_channel = channels.inputs.size();
        std::vector<float> rows(static_cast<size_t>(domain_.n()) * n_channel);
        for (size_t c = 0; c < n_channel; ++c) {
            const Channel& channel = channels.inputs[c];
            const auto values =
                channel.is_coordinate()
                    ? read_coordinate(file_, channel.axis, pair_.input, domain_.range())
                    : read_range(file_, channel.stored, pair_.input, {}, domain_.range());
            for (size_t i = 0; i < static_cast<size_t>(domain_.n()); ++i) {
                const double value = values[channel.is_per_sample ? 0 : i];
                rows[i * n_channel + c] =
                    static_cast<float>((value - infos[c].mean) / infos[c].std);
            }
        }
        return rows;
    }

    /// Computes the network's output at this rank's points. Collective.
    template <class T>
    std::vector<T> run(std::vector<float>& rows, Options options) const {
        options.set("coordinates", "normalized");
        Plan plan(model_, normalized_ ? *normalized_ : domain_.domain(), options);
        const auto ports = model_.ports();
        std::vector<surrogate_named_array> inputs, outputs;
        std::vector<T> result(static_cast<size_t>(domain_.n()) * model_.outputs().size());
        const auto n_in = static_cast<int64_t>(model_.inputs().size());
        const auto n_out = static_cast<int64_t>(model_.outputs().size());
        std::vector<T> wide(rows.begin(), rows.end());
        int64_t in = 0, out = 0;
        for (const auto& port : ports) {
            const bool is_input = port.is_output == 0;
            T* const data = is_input ? wide.data() + in : result.data() + out;
            surrogate_array array = matrix(data, domain_.n(), is_input ? n_in : n_out);
            array.shape[1] = port.n_channel;
            if (port.location != SURROGATE_COORDINATES)
                (is_input ? inputs : outputs).push_back({port.name, array});
            (is_input ? in : out) += port.n_channel;
        }
        plan.run_network(inputs, outputs);
        return result;
    }

    /// Gathers rows of all ranks on rank 0 in the order of a file: (1, points, channels), on the
    /// sphere (1, channels, n_lat, n_lon), for the channels first .. first + n - 1 of n_channel.
    template <class T>
    std::vector<T> gathered(const std::vector<T>& rows, size_t n_channel, size_t first,
                            size_t n) const {
        const std::vector<T> all = job_.gather(rows);
        const size_t n_row = all.size() / n_channel;
        std::vector<T> values(n_row * n);
        for (size_t i = 0; i < n_row; ++i)
            for (size_t c = 0; c < n; ++c)
                values[is_sphere() ? c * n_row + i : i * n + c] = all[i * n_channel + first + c];
        return values;
    }

    std::vector<int64_t> shape(int64_t n_channel) const {
        if (is_sphere()) return {1, n_channel, extents_[0], extents_[1]};
        return {1, n_point(), n_channel};
    }

    /// Adds the weights of the points, if the network uses them. Collective; the result is on rank
    /// 0.
    void add_weights(ModelBytes* bytes) const {
        if (!is_weighted_) return;
        std::vector<double> own;
        job_.agree([&] { own = read_weights(file_, pair_.input, {}, domain_.range()); });
        const std::vector<double> all = job_.gather(own);
        bytes->add("check/input/weight", "F64", {n_point()}, all.data(),
                   all.size() * sizeof(double));
    }

private:
    const Job& job_;
    const Model& model_;
    const dataset::ReadFile& file_;
    const Pair& pair_;
    std::vector<int64_t> extents_;
    bool is_weighted_;
    SampleDomain domain_;
    std::optional<Domain> normalized_;  ///< of networks that read coordinates
};

/// Returns true if all tensors of the network are real numbers with one row per point.
bool is_row_a_point(const Model& model) {
    for (const auto& port : model.ports()) {
        const bool is_at_points = port.is_output != 0 ? port.location == SURROGATE_ON_OUTPUT
                                                      : port.location == SURROGATE_ON_INPUT ||
                                                            port.location == SURROGATE_COORDINATES;
        if (!is_at_points || port.kind == SURROGATE_INTEGER) return false;
    }
    return true;
}

/// Adds the tensors of all ports of one side. Collective; the result is on rank 0.
template <class T>
void add_ports(const CheckedSample& sample, const Model& model, bool is_output,
               const std::vector<T>& rows, const std::string& prefix, ModelBytes* bytes) {
    const size_t n_channel = is_output ? model.outputs().size() : model.inputs().size();
    size_t first = 0;
    for (const auto& port : model.ports()) {
        if ((port.is_output != 0) != is_output) continue;
        const auto n = static_cast<size_t>(port.n_channel);
        const auto values = sample.gathered(rows, n_channel, first, n);
        bytes->add(prefix + port.name, sizeof(T) == 8 ? "F64" : "F32", sample.shape(port.n_channel),
                   values.data(), values.size() * sizeof(T));
        first += n;
    }
}

}  // namespace

bool add_check_case(const Job& job, const Context& context, const TrainData& data,
                    const ModelChannels& channels, const Pair& pair, const std::string& path) {
    const Model model(context, path);
    if (!is_row_a_point(model) || data.file(pair.file).form().has_clouds) return false;
    CheckedSample sample(job, model, data, pair);
    std::vector<float> rows;
    ModelBytes bytes;
    job.agree([&] {
        rows = sample.read(channels);
        if (job.is_root()) bytes = ModelBytes::read(path);
    });
    sample.create_domain(context, rows);
    add_ports(sample, model, false, rows, "check/input/", &bytes);
    sample.add_weights(&bytes);
    add_ports(sample, model, true, sample.run<float>(rows, {}), "check/output/", &bytes);
    if (sample.n_point() <= most_double_points)
        add_ports(sample, model, true,
                  sample.run<double>(rows, {{"precision", "fp64"}, {"backend", "ref"}}),
                  "check/output64/", &bytes);
    job.agree([&] {
        if (job.is_root()) write_output(path, bytes.bytes());
    });
    return true;
}

}  // namespace surrogate::tool
