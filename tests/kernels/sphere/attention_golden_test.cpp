// SPDX-License-Identifier: Apache-2.0
// Layers of attention, forward and backward, against outputs and gradients of the official code
// (tests/data/sphere/operators). Projections are plain loops in double; what is between them are
// the kernels.
#include "tests/kernels/sphere/golden_layer.hpp"

namespace surrogate::kernels::sphere::test {
namespace {

/// Attention of projected fields, and backward of the gradient of its result.
struct Averages {
    Field y, sums;
};
struct AttentionGradients {
    Field dq, dk, dv;
};

template <class T>
class NeighborhoodKernels {
public:
    NeighborhoodKernels(const Queue& queue, const Layer& layer, Field& q, Field& k, Field& v)
        : queue_(queue),
          layer_(layer),
          heads_(layer.heads),
          stencil_(neighborhood(layer.out, layer.in, layer.cutoff, 0, layer.out.n_lat)),
          back_(transposed_neighborhood(layer.out, layer.in, layer.cutoff, 0, layer.in.n_lat)),
          q_(q, stencil_.n_phase_out, back_.strips),
          k_(k, stencil_.n_phase_in, stencil_.strips),
          v_(v, stencil_.n_phase_in, stencil_.strips) {
        for (double w : layer.row_weight)
            for (int64_t phase = 0; phase < stencil_.n_phase_in; ++phase)
                weight_.push_back(static_cast<T>(w));
    }

    Averages run() {
        Averages to{Field(heads_.n_value_channel(), layer_.out),
                    Field(2 * heads_.n_head, layer_.out)};
        int64_t most = 0;
        for (const Strip& strip : stencil_.strips) most += strip.count;
        Buffer<T> scratch(neighborhood_scratch(heads_, most));
        for_rows(stencil_, [&](int64_t row, int64_t phase) {
            TileBox<T> y(TileBox<T>::output, heads_.n_value_channel(), stencil_.n_column),
                log_sum(TileBox<T>::output, heads_.n_head, stencil_.n_column);
            const NeighborhoodRow<T> one{stencil_.list(row, phase), q_.tile(row, phase), y.view(),
                                         log_sum.view()};
            attend_neighbors<T>(queue_, heads_, {&one, 1}, 0, k_.rings(), v_.rings(),
                                weight_.data(), scratch.data());
            set_row<T>(to.y, row, y.view(), phase, stencil_.n_phase_out);
            set_row<T>(to.sums, row, log_sum.view(), phase, stencil_.n_phase_out);
        });
        return to;
    }

    AttentionGradients backward(Averages& forward, Field& dy) {
        AttentionGradients to{Field(heads_.n_key_channel(), layer_.out),
                              Field(heads_.n_key_channel(), layer_.in),
                              Field(heads_.n_value_channel(), layer_.in)};
        for (int64_t row = 0; row < layer_.out.n_lat; ++row) {
            TileBox<T> sums = row_of<T>(forward.sums, row);
            attend_delta<T>(queue_, heads_, row_of<T>(forward.y, row).input_view(),
                            row_of<T>(dy, row).input_view(),
                            channels(sums.view(), heads_.n_head, heads_.n_head));
            set_row<T>(forward.sums, row, sums.view());
        }
        FieldRings<T> dy_rings(dy, stencil_.n_phase_out, back_.strips),
            sums(forward.sums, stencil_.n_phase_out, back_.strips);
        Buffer<T> scratch(neighborhood_backward_scratch(heads_));
        for_rows(stencil_, [&](int64_t row, int64_t phase) {
            TileBox<T> dq(TileBox<T>::output, heads_.n_key_channel(), stencil_.n_column);
            const QueryGradientRow<T> one{stencil_.list(row, phase), q_.tile(row, phase),
                                          dy_rings.tile(row, phase), sums.tile(row, phase),
                                          dq.view()};
            attend_neighbors_backward_queries<T>(queue_, heads_, {&one, 1}, 0, k_.rings(),
                                                 v_.rings(), weight_.data(), scratch.data());
            set_row<T>(to.dq, row, dq.view(), phase, stencil_.n_phase_out);
        });
        for_rows(back_, [&](int64_t row, int64_t phase) {
            TileBox<T> dk(TileBox<T>::output, heads_.n_key_channel(), stencil_.n_column),
                dv(TileBox<T>::output, heads_.n_value_channel(), stencil_.n_column);
            const auto weight = weight_[static_cast<size_t>(row * stencil_.n_phase_in + phase)];
            const KeyGradientRow<T> one{back_.list(row, phase), weight,    k_.tile(row, phase),
                                        v_.tile(row, phase),    dk.view(), dv.view()};
            attend_neighbors_backward_keys<T>(queue_, heads_, {&one, 1}, 0,
                                              {q_.rings(), dy_rings.rings(), sums.rings()},
                                              scratch.data());
            set_row<T>(to.dk, row, dk.view(), phase, stencil_.n_phase_in);
            set_row<T>(to.dv, row, dv.view(), phase, stencil_.n_phase_in);
        });
        return to;
    }

private:
    template <class Body>
    static void for_rows(const Stencil& stencil, const Body& body) {
        for (int64_t row = stencil.first_row; row < stencil.end_row; ++row)
            for (int64_t phase = 0; phase < stencil.n_phase_out; ++phase) body(row, phase);
    }

    Queue queue_;
    const Layer& layer_;
    Heads heads_;
    Stencil stencil_, back_;
    FieldRings<T> q_, k_, v_;
    std::vector<T> weight_;
};

/// Attention to all points: rows of keys, and of queries, in ascending order.
template <class T>
class GlobalKernels {
public:
    GlobalKernels(const Queue& queue, const Layer& layer, Field& q, Field& k, Field& v)
        : queue_(queue), layer_(layer), heads_(layer.heads), scratch_(attend_scratch(heads_)) {
        for (int64_t row = 0; row < q.n_lat; ++row) q_.push_back(row_of<T>(q, row));
        for (int64_t row = 0; row < k.n_lat; ++row) {
            k_.push_back(row_of<T>(k, row));
            v_.push_back(row_of<T>(v, row));
        }
    }

    Averages run() {
        Averages to{Field(heads_.n_value_channel(), layer_.out),
                    Field(2 * heads_.n_head, layer_.out)};
        Buffer<T> data(SoftmaxState<T>::size(heads_));
        const SoftmaxState<T> state{heads_, data.data()};
        for (size_t row = 0; row < q_.size(); ++row) {
            reset(state);
            for (size_t key_row = 0; key_row < k_.size(); ++key_row)
                attend<T>(queue_, heads_, q_[row].input_view(), k_[key_row].input_view(),
                          v_[key_row].input_view(), weight(key_row), {}, scratch_.data(), state);
            TileBox<T> y(TileBox<T>::output, heads_.n_value_channel(), layer_.out.n_lon),
                log_sum(TileBox<T>::output, heads_.n_head, layer_.out.n_lon);
            finish<T>(queue_, state, y.view());
            log_sums<T>(queue_, state, log_sum.view());
            set_row<T>(to.y, static_cast<int64_t>(row), y.view());
            set_row<T>(to.sums, static_cast<int64_t>(row), log_sum.view());
        }
        return to;
    }

    AttentionGradients backward(Averages& forward, Field& dy) {
        AttentionGradients to{Field(heads_.n_key_channel(), layer_.out),
                              Field(heads_.n_key_channel(), layer_.in),
                              Field(heads_.n_value_channel(), layer_.in)};
        std::vector<TileBox<T>> dq = zeros(to.dq), dk = zeros(to.dk), dv = zeros(to.dv);
        for (size_t row = 0; row < q_.size(); ++row) {
            const auto at = static_cast<int64_t>(row);
            TileBox<T> g = row_of<T>(dy, at), sums = row_of<T>(forward.sums, at);
            const Tile<T> delta = channels(sums.view(), heads_.n_head, heads_.n_head);
            attend_delta<T>(queue_, heads_, row_of<T>(forward.y, at).input_view(), g.input_view(),
                            delta);
            AttendGradient<T> of{q_[row].input_view(), g.input_view(),
                                 channels(sums.input_view(), 0, heads_.n_head), delta};
            for (size_t key_row = 0; key_row < k_.size(); ++key_row) {
                of.key_weight = weight(key_row);
                const Tile<const T> k = k_[key_row].input_view(), v = v_[key_row].input_view();
                attend_backward_queries<T>(queue_, heads_, of, k, v, {}, scratch_.data(),
                                           dq[row].view(), nullptr);
                attend_backward_keys<T>(queue_, heads_, of, k, v, {}, scratch_.data(),
                                        dk[key_row].view(), dv[key_row].view());
            }
            set_row<T>(to.dq, at, dq[row].view());
        }
        for (size_t row = 0; row < k_.size(); ++row) {
            set_row<T>(to.dk, static_cast<int64_t>(row), dk[row].view());
            set_row<T>(to.dv, static_cast<int64_t>(row), dv[row].view());
        }
        return to;
    }

private:
    T weight(size_t row) const { return static_cast<T>(layer_.row_weight[row]); }
    static std::vector<TileBox<T>> zeros(Field& field) {
        std::vector<TileBox<T>> rows;
        for (int64_t row = 0; row < field.n_lat; ++row) rows.push_back(row_of<T>(field, row));
        return rows;
    }

    Queue queue_;
    const Layer& layer_;
    Heads heads_;
    std::vector<TileBox<T>> q_, k_, v_;
    Buffer<T> scratch_;
};

void scale_all(Field& x, double factor) {
    for (double& value : x.data) value *= factor;
}

/// |got - want| relative to the largest number wanted.
void expect_numbers(const std::string& name, const std::vector<double>& got,
                    const std::vector<double>& want, double bound) {
    ASSERT_EQ(got.size(), want.size()) << name;
    double largest = 0, error = 0;
    for (size_t n = 0; n < want.size(); ++n) {
        largest = std::max(largest, std::abs(want[n]));
        error = std::max(error, std::abs(got[n] - want[n]));
    }
    EXPECT_LE(error, bound * largest) << name;
}

/// Gradients of one layer by name: of weights, and inputs under the names of the file.
template <class T, class Kernels>
void expect_golden(const Queue& queue, const std::string& name, double bound) {
    SCOPED_TRACE(name);
    const Layer layer(name);
    const int64_t n_key = layer.heads.n_key_channel(), n_value = layer.heads.n_value_channel();
    const Projection to_q(layer, "q", n_key), to_k(layer, "k", n_key), to_v(layer, "v", n_value),
        proj(layer, "proj", n_value);
    const HeadNorm<T> q_norm(queue, layer, "q"), k_norm(queue, layer, "k");
    Field x_q = layer.input("query", layer.out), x_k = layer.input("key", layer.in),
          x_v = layer.input("value", layer.in);
    Field q_raw = to_q.apply(x_q), k_raw = to_k.apply(x_k), v = to_v.apply(x_v);
    Field q = q_norm.apply(q_raw), k = k_norm.apply(k_raw);
    scale_all(q, layer.scale);
    Kernels kernels(queue, layer, q, k, v);
    Averages averages = kernels.run();
    Field y = proj.apply(averages.y);
    expect_numbers("y", y.data, layer.numbers("check/output64/y"), bound);

    std::map<std::string, std::vector<double>> got;
    Field dy = y;
    for (size_t n = 0; n < dy.data.size(); ++n) dy.data[n] = std::cos(0.7 * static_cast<double>(n));
    Field d_averages = proj.backward(averages.y, dy, got);
    AttentionGradients d = kernels.backward(averages, d_averages);
    scale_all(d.dq, layer.scale);
    Field dq = q_norm.backward(q_raw, d.dq, got), dk = k_norm.backward(k_raw, d.dk, got);
    const Field dx_q = to_q.backward(x_q, dq, got), dx_k = to_k.backward(x_k, dk, got),
                dx_v = to_v.backward(x_v, d.dv, got);
    for (const auto& [key, values] : got) {
        // Softmax does not see a bias of keys: its gradient is rounding noise, unless a norm is
        // between.
        if (key == "k_bias" && !layer.has("k_norm_weights")) continue;
        if (layer.has("check/grad/" + key))
            expect_numbers(key, values, layer.numbers("check/grad/" + key), 2 * bound);
    }
    if (layer.is_self()) {
        Field dx = dx_q;
        for (size_t n = 0; n < dx.data.size(); ++n) dx.data[n] += dx_k.data[n] + dx_v.data[n];
        expect_numbers("dx", dx.data, layer.numbers("check/grad_input/x"), bound);
        return;
    }
    expect_numbers("dx_q", dx_q.data, layer.numbers("check/grad_input/query"), bound);
    expect_numbers("dx_k", dx_k.data, layer.numbers("check/grad_input/key"), bound);
    expect_numbers("dx_v", dx_v.data, layer.numbers("check/grad_input/value"), bound);
}

/// The official gradients are in float32, and so are their sums over points, whose terms cancel:
/// 3.4e-6 of proj_bias, which no kernel takes part in. Such sums get twice the bound: 6.5e-6 of
/// v_bias come from the rounding of log_sum in float.
template <class T>
void expect_all_golden(const Queue& queue, double bound) {
    for (const char* name : {"attention_1", "attention_2", "attention_3", "attention_4"})
        expect_golden<T, NeighborhoodKernels<T>>(queue, name, bound);
    for (const char* name : {"attention_0", "attention_5"})
        expect_golden<T, GlobalKernels<T>>(queue, name, bound);
}

class SphereGoldenOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(SphereGoldenOn);

TEST_P(SphereGoldenOn, GivesTheOfficialGradients) {
    expect_all_golden<float>(queue(), 4e-6);
}

TEST(SphereGoldenReference, GivesTheOfficialGradientsInDouble) {
    expect_all_golden<double>(Queue(Backend::ref, VectorLevel::scalar, 1), 2e-6);
}

}  // namespace
}  // namespace surrogate::kernels::sphere::test
