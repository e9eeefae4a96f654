// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/sequence.hpp"

#include <cmath>

#include "kernels/embedding/embedding.hpp"

namespace surrogate::impl::flare {

using kernels::Tile;
using kernels::tile_points;

namespace {

/// place * 10000^(-2 pair / n), in single precision step by step: the official tables are, also in
/// double precision.
float angle_of(int64_t place, int64_t pair, int64_t n) {
    const float step = static_cast<float>(-std::log(10000.0) / static_cast<double>(n));
    const float exponent = static_cast<float>(2 * pair) * step;
    const float frequency = static_cast<float>(std::exp(static_cast<double>(exponent)));
    return static_cast<float>(place) * frequency;
}
float sine(float angle) {
    return static_cast<float>(std::sin(static_cast<double>(angle)));
}
float cosine(float angle) {
    return static_cast<float>(std::cos(static_cast<double>(angle)));
}

}  // namespace

template <class T>
Sequence<T>::Sequence(const Config& config, const Layers<T>& layers, const kernels::Queue& queue)
    : config_(config), layers_(layers), queue_(queue) {}

template <class T>
int64_t Sequence<T>::n_code_channel() const {
    switch (config_.sequence.position) {
        case PositionCode::sinusoid: return config_.channel_dim;
        case PositionCode::rotary: return config_.head_dim();
        case PositionCode::learned: break;
    }
    return 0;
}

template <class T>
void Sequence<T>::resize(Range own, bool has_class_token) {
    n_token_ = own.size();
    has_class_token_ = has_class_token;
    const int64_t n = n_tile() * tile_points;
    words_.resize(n);
    places_.resize(n);
    is_hidden_.resize(n);
    codes_.resize(n * n_code_channel());
    std::fill(is_hidden_.begin(), is_hidden_.end(), uint8_t{0});
    set_places(own);
    set_codes();
}

template <class T>
void Sequence<T>::set_places(Range own) {
    const int64_t first = own.begin + (config_.sequence.has_class_token() ? 1 : 0);
    std::fill(places_.begin(), places_.end(), int64_t{0});
    for (int64_t i = 0; i < n_token_; ++i) places_[i] = first + i;
}

template <class T>
void Sequence<T>::set_codes() {
    const int64_t n = n_code_channel();
    const bool turns = config_.sequence.position == PositionCode::rotary;
    for (int64_t tile = 0; tile < n_tile() && n > 0; ++tile) {
        T* const codes = codes_.data() + tile * n * tile_points;
        for (int64_t pair = 0; pair < n / 2; ++pair) {
            T* const one = codes + (turns ? pair : 2 * pair) * tile_points;
            T* const other = codes + (turns ? n / 2 + pair : 2 * pair + 1) * tile_points;
            for (int64_t i = 0; i < tile_points; ++i) {
                const float angle = angle_of(places_[tile * tile_points + i], pair, n);
                one[i] = turns ? cosine(angle) : sine(angle);
                other[i] = turns ? sine(angle) : cosine(angle);
            }
        }
    }
}

template <class T>
void Sequence<T>::take(const int64_t* rows) {
    for (int64_t i = 0; i < n_token_; ++i) {
        words_[i] = rows[2 * i];
        is_hidden_[i] = rows[2 * i + 1] == 0;
    }
}

template <class T>
void Sequence<T>::embed(int64_t tile, Tile<T> x) const {
    if (!is_class_tile(tile)) {
        kernels::embed_rows<T>(queue_, layers_.sequence.words, words_.data() + tile * tile_points,
                               false, x);
        drop_words(tile, x);
        return;
    }
    for (int64_t c = 0; c < x.shape[0]; ++c) x(c, 0) = layers_.sequence.class_token[c];
}

template <class T>
void Sequence<T>::add_positions(int64_t tile, Tile<T> x) const {
    if (layers_.sequence.positions) {
        kernels::embed_rows<T>(queue_, layers_.sequence.positions,
                               places_.data() + tile * tile_points, true, x);
    }
    if (config_.sequence.position != PositionCode::sinusoid) return;
    const T scale = *layers_.sequence.position_scale;
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        const T* const code = codes_.data() + (tile * x.shape[0] + c) * tile_points;
        for (int64_t i = 0; i < x.shape[1]; ++i) x(c, i) += code[i] * scale;
    }
}

template <class T>
template <class Body>
void Sequence<T>::for_turns(int64_t tile, const Body& body) const {
    const int64_t n = config_.head_dim(), n_pair = n / 2;
    const T* const cosines = codes_.data() + tile * n * tile_points;
    const T* const sines = cosines + n_pair * tile_points;
    for (int64_t c = 0; c < n; ++c) {
        const bool is_odd_part = c < n_pair;  // the companion's first half
        body(c, is_odd_part ? 2 * c + 1 : 2 * (c - n_pair), is_odd_part ? T(-1) : T(1),
             cosines + c / 2 * tile_points, sines + c / 2 * tile_points);
    }
}

template <class T>
void Sequence<T>::turn(int64_t tile, Tile<T> k, T* head) const {
    if (config_.sequence.position != PositionCode::rotary) return;
    const int64_t n = config_.head_dim();
    for (int64_t first = 0; first < k.shape[0]; first += n) {
        for (int64_t c = 0; c < n; ++c)
            std::copy_n(&k(first + c, 0), k.shape[1], head + c * tile_points);
        for_turns(tile, [&](int64_t c, int64_t other, T sign, const T* cosine, const T* sine) {
            const T* const companion = head + other * tile_points;
            for (int64_t i = 0; i < k.shape[1]; ++i)
                k(first + c, i) =
                    head[c * tile_points + i] * cosine[i] + sign * companion[i] * sine[i];
        });
    }
}

template <class T>
void Sequence<T>::turn_backward(int64_t tile, Tile<T> dk, T* head) const {
    if (config_.sequence.position != PositionCode::rotary) return;
    const int64_t n = config_.head_dim();
    for (int64_t first = 0; first < dk.shape[0]; first += n) {
        for (int64_t c = 0; c < n; ++c)
            std::copy_n(&dk(first + c, 0), dk.shape[1], head + c * tile_points);
        for_turns(tile, [&](int64_t c, int64_t, T, const T* cosine, const T*) {
            for (int64_t i = 0; i < dk.shape[1]; ++i)
                dk(first + c, i) = head[c * tile_points + i] * cosine[i];
        });
        // Every channel is the companion of one other.
        for_turns(tile, [&](int64_t c, int64_t other, T sign, const T*, const T* sine) {
            for (int64_t i = 0; i < dk.shape[1]; ++i)
                dk(first + other, i) += sign * head[c * tile_points + i] * sine[i];
        });
    }
}

template <class T>
void Sequence<T>::embed_backward(int64_t tile, Tile<T> dx, const SequencePlaces& places,
                                 double* arena) const {
    if (!arena) return;
    if (!is_class_tile(tile)) {
        drop_words(tile, dx);
        double* const table = arena + places.words;
        kernels::embed_rows_backward<T>(queue_, words_.data() + tile * tile_points, dx, table);
        // As PyTorch's Embedding has it.
        if (config_.sequence.padding >= 0)
            std::fill_n(table + config_.sequence.padding * dx.shape[0], dx.shape[0], 0.0);
        return;
    }
    for (int64_t c = 0; c < dx.shape[0]; ++c)
        arena[places.class_token + c] += static_cast<double>(dx(c, 0));
}

template <class T>
void Sequence<T>::positions_backward(int64_t tile, Tile<const T> dx, const SequencePlaces& places,
                                     double* arena) const {
    if (places.positions >= 0) {
        kernels::embed_rows_backward<T>(queue_, places_.data() + tile * tile_points, dx,
                                        arena + places.positions);
    }
    if (places.position_scale < 0) return;
    double sum = 0;
    for (int64_t c = 0; c < dx.shape[0]; ++c) {
        const T* const code = codes_.data() + (tile * dx.shape[0] + c) * tile_points;
        for (int64_t i = 0; i < dx.shape[1]; ++i)
            sum += static_cast<double>(dx(c, i)) * static_cast<double>(code[i]);
    }
    arena[places.position_scale] += sum;
}

template <class T>
void Sequence<T>::drop_words(int64_t tile, Tile<T> x) const {
    const double rate = config_.sequence.emb_drop;
    if (drops(rate)) dropout_->apply<T>({word_site, rate}, rows_of(tile), x);
}

template <class T>
void Sequence<T>::drop_head(int64_t tile, Tile<const T> from, Tile<T> to) const {
    dropout_->apply<T>({head_site, config_.sequence.cls_drop}, rows_of(tile), from, false, to);
}

template <class T>
bool Sequence<T>::has_hidden(int64_t tile) const {
    const uint8_t* const first = is_hidden_.data() + tile * tile_points;
    return std::any_of(first, first + n_in_tile(tile), [](uint8_t hidden) { return hidden != 0; });
}

template <class T>
int64_t Sequence<T>::visible(int64_t tile, Tile<const T> from, T* to) const {
    const uint8_t* const hidden = is_hidden_.data() + tile * tile_points;
    int64_t n_visible = 0;
    for (int64_t c = 0; c < from.shape[0]; ++c) {
        n_visible = 0;
        for (int64_t i = 0; i < from.shape[1]; ++i)
            if (!hidden[i]) to[c * tile_points + n_visible++] = from(c, i);
        std::fill(to + c * tile_points + n_visible, to + (c + 1) * tile_points, T(0));
    }
    return n_visible;
}

template <class T>
void Sequence<T>::silence(int64_t tile, Tile<T> y) const {
    const uint8_t* const hidden = is_hidden_.data() + tile * tile_points;
    for (int64_t c = 0; c < y.shape[0]; ++c)
        for (int64_t i = 0; i < y.shape[1]; ++i)
            if (hidden[i]) y(c, i) = 0;
}

template <class T>
void Sequence<T>::spread(int64_t tile, Tile<T> data) const {
    const uint8_t* const hidden = is_hidden_.data() + tile * tile_points;
    const int64_t n_visible = std::count(hidden, hidden + data.shape[1], uint8_t{0});
    for (int64_t c = 0; c < data.shape[0]; ++c) {
        int64_t from = n_visible;
        for (int64_t i = data.shape[1]; i-- > 0;) data(c, i) = hidden[i] ? T(0) : data(c, --from);
    }
}

template <class T>
int64_t Sequence<T>::bytes() const {
    return words_.bytes() + places_.bytes() + is_hidden_.bytes() + codes_.bytes();
}

template class Sequence<float>;
template class Sequence<double>;

}  // namespace surrogate::impl::flare
