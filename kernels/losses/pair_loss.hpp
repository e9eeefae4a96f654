// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"
#include "kernels/losses/pair_rows.hpp"

/// InfoNCE over pairs of points, in steps between which ranks may exchange data of their points.
/// With t_uv the similarity of a pair divided by tau, and any shift m:
///
///   x_uv = exp(t_uv - m)
///   D_u  = sum over negative pairs (u, v) of x_uv
///   l_uv = -log( x_uv / (x_uv + D_u) ) = log(1 + D_u / x_uv)      positive pairs
///   loss = sum over positive pairs of w_u l_uv,  w from pair_weights()
///
/// This is the mean over particles of the mean over their positive pairs. m cancels; it keeps x in
/// range. Source: van den Oord et al., arXiv:1807.03748; the specification of HEPT, section 7;
/// losses.md explains the design choices.
///
/// The order of calls is: similarity_bound() or largest_similarity() and the maximum over ranks;
/// pair_sums(); the sum of losses over points and ranks; the PairSums of points that other ranks
/// own, if they are in pairs; pair_gradient().
namespace surrogate::kernels::losses {

/// Similarity of two embeddings at distance r, or with the angle a between them:
///   l2_rbf      exp(-r / (2 sigma^2)): the distance itself, not its square
///   l2_inverse  1 / (1 + r)
///   cosine      cos(a). The functions below read unit vectors, which normalize() computes.
enum class Likeness { l2_rbf, l2_inverse, cosine };

/// Parameters of a similarity; tau > 0 and sigma > 0.
struct Similarity {
    Likeness likeness = Likeness::l2_rbf;
    double tau = 0.05;
    double sigma = 0.75;
};

/// Embeddings of points, one row each: shape (n_point, m), stride (a multiple of lane_count that is
/// at least m, 1). Elements from m on up to the stride are zeros. Squares of differences must not
/// overflow. No alignment is required; at 64 bytes a row of 16 floats is one cache line.
template <class T>
using Embedding = View<T, 2>;

/// Largest number of channels; wider embeddings are rejected with not_supported, because the sums
/// of a row are on the stack.
constexpr int64_t most_channels = 256;

/// Data of points that the loss stores, (n_point) each, memory of the caller. The data of a point
/// that is only second in pairs comes from the rank that has its row.
template <class T>
struct PairSums {
    T* weight = nullptr;    ///< w_u, an input
    T* negative = nullptr;  ///< D_u
    T* slope = nullptr;     ///< sum over positive pairs (u, v) of w_u / (x_uv + D_u)

    operator PairSums<const T>() const requires(!std::is_const_v<T>) {
        return {weight, negative, slope};
    }
};

/// x is at least exp(-70): a pair farther below m counts as if it had this value. Then nothing
/// overflows, and no divisor of a point is 0.
constexpr double least_exponent = -70;

/// Returns 1 / tau, which no t exceeds except by rounding.
double similarity_bound(const Similarity& similarity);

/// Returns true if the bound can serve as m: every x is then above exp(least_exponent), and
/// largest_similarity() with its pass over all pairs is not needed.
bool bound_suffices(const Similarity& similarity);

/// Returns the largest t of all pairs; -infinity without pairs. If a t is NaN, the result may be a
/// number; sums and losses become NaN.
template <class T>
T largest_similarity(const Queue& queue, const Similarity& similarity, Embedding<const T> e,
                     const PairRows& pairs);

/// Computes D and slope of the points that have rows, and the loss of each in double:
///   loss[u] = sum over positive pairs (u, v) of w_u l_uv,   (n_row)
/// Points without positive pairs have slope 0 and loss 0; D_u is 0 without negative pairs, and then
/// l_uv = 0. Sums over pairs are in double. Results are bitwise identical for any number of threads
/// and on every SIMD instruction set, and do not depend on the other rows. NaN in an embedding
/// reaches the loss of all points that are paired with it. float: relative error of an x at most
/// 1e-6 (1 + |t|).
template <class T>
void pair_sums(const Queue& queue, const Similarity& similarity, Embedding<const T> e,
               const PairRows& pairs, T m, const PairSums<T>& sums, double* loss);

/// Role of the points in pairs for which a gradient is computed: as first points, as second points,
/// or, if the pairs are symmetric, both at once.
enum class PairSide { first, second, both };

/// Computes gradients of the points p that have rows. With G_uv = dloss / dt_uv:
///   first   de_p += sum over pairs (p, v) of G_pv dt_pv / de_p
///   second  de_p += sum over pairs (p, v) of G_vp dt_vp / de_p: `pairs` are the reversed ones
///   both    the sum of the two: (p, v) is listed if (v, p) is, see is_symmetric()
///   G of a negative pair is x_uv slope_u, of a positive one -w_u D_u / (x_uv + D_u)
///   sums  of all points that pairs name; m, e and sums as in pair_sums()
///   de    (n_row, m) in the layout of e, its padding is unchanged
/// dt / de is 0 at distance 0, and approaches 0 where the distance is below 2^-60. Sums as in
/// pair_sums(), rounded once.
template <class T>
void pair_gradient(const Queue& queue, const Similarity& similarity, Embedding<const T> e,
                   const PairRows& pairs, PairSide side, T m, const PairSums<const T>& sums,
                   Embedding<T> de);

/// Returns loss[0] + loss[1] + ..
double sum_in_order(const double* loss, int64_t n_row);

/// Computes unit(i) = e(i) / |e(i)|, and zeros where e(i) is zero; n_point rows, unit may be e.
template <class T>
void normalize(const Queue& queue, Embedding<const T> e, Embedding<T> unit);

/// Computes, from dunit, the gradient of unit vectors: de(i) = (dunit - <dunit, unit> unit) /
/// |e(i)|; zeros where e(i) is zero. de may be dunit.
template <class T>
void normalize_backward(const Queue& queue, Embedding<const T> e, Embedding<const T> unit,
                        Embedding<const T> dunit, Embedding<T> de);

/// Rows [first, end) of a call of the functions above.
struct RowRange {
    int64_t first = 0, end = 0;
};

namespace ref {
template <class T>
T largest_similarity(const Similarity& similarity, Embedding<const T> e, const PairRows& pairs,
                     RowRange range);
template <class T>
void pair_sums(const Similarity& similarity, Embedding<const T> e, const PairRows& pairs,
               RowRange range, T m, const PairSums<T>& sums, double* loss);
template <class T>
void pair_gradient(const Similarity& similarity, Embedding<const T> e, const PairRows& pairs,
                   RowRange range, PairSide side, T m, const PairSums<const T>& sums,
                   Embedding<T> de);
}  // namespace ref
namespace simd {
float largest_similarity(VectorLevel level, const Similarity& similarity, Embedding<const float> e,
                         const PairRows& pairs, RowRange range);
void pair_sums(VectorLevel level, const Similarity& similarity, Embedding<const float> e,
               const PairRows& pairs, RowRange range, float m, const PairSums<float>& sums,
               double* loss);
void pair_gradient(VectorLevel level, const Similarity& similarity, Embedding<const float> e,
                   const PairRows& pairs, RowRange range, PairSide side, float m,
                   const PairSums<const float>& sums, Embedding<float> de);
}  // namespace simd

}  // namespace surrogate::kernels::losses
