// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <surrogate/surrogate_mpi.hpp>
#include <vector>

#include "event.hpp"

namespace tracking {

/// Points in a space in which hits of a particle lie close together: (hits, width), row by row.
struct Embedding {
    int64_t width = 0;
    std::vector<float> rows;
    double radius = 0;  ///< nearer hits belong together, if nothing else is said
};

/// Hits by the direction in which they are seen from the middle of the detector: (cos, sin of the
/// azimuth, pseudorapidity). What is left without a surrogate: good for straight tracks from one
/// place.
Embedding embed_by_direction(const std::vector<Hit>& hits);

/// The trained model: all calls of libsurrogate but those for files are here. Every function is
/// collective and throws surrogate::Error, on all ranks the same: no such file, a model of other
/// fields, hits that are not finite.
class Embedder {
public:
    Embedder(MPI_Comm comm, const std::string& model, bool is_reproducible);

    /// Plans the model for the hits; each event is a cloud of its own.
    void plan(const std::vector<Hit>& hits);
    /// Embeddings of the planned hits.
    Embedding embed(const std::vector<Hit>& hits);

    /// The largest share of the hits with one of their inputs outside the training data.
    double share_outside() const;
    /// "backend simd, vector avx2, threads 1": how the plan computes.
    std::string how() const;

private:
    surrogate::Context context_;
    surrogate::Model model_;
    std::string reproducible_;
    std::optional<surrogate::Domain> domain_;
    std::optional<surrogate::Plan> plan_;
};

}  // namespace tracking
