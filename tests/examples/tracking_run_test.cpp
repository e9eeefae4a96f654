// SPDX-License-Identifier: Apache-2.0
// The example with the model that comes with the library, on any number of ranks, and its files.
#include <gtest/gtest.h>
#include <vtkCell.h>
#include <vtkCellData.h>
#include <vtkDataArray.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLUnstructuredGridReader.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <vector>

#include "embedder.hpp"
#include "exchange.hpp"
#include "join.hpp"
#include "output.hpp"
#include "score.hpp"

namespace {

using namespace tracking;

const std::string models = std::string(SURROGATE_SHARE) + "/models/";

struct Outcome {
    std::vector<Hit> hits;
    Embedding embedding;
    std::vector<int64_t> labels;
};

/// Two events of seed 3000 and the next one, which the model has not seen.
Outcome run(MPI_Comm comm, bool is_reproducible, int64_t n_event = 2) {
    EventShape shape;
    shape.n_hit = 1000;
    Outcome run{read_events(comm, 3000, n_event, shape), {}, {}};
    Embedder embedder(comm, models + "tracking.safetensors", is_reproducible);
    embedder.plan(run.hits);
    run.embedding = embedder.embed(run.hits);
    run.labels = join(comm, run.hits, run.embedding, run.embedding.radius);
    EXPECT_LE(embedder.fraction_outside(), 0.01);
    return run;
}

/// The embedding by the ids of hits.
std::map<int64_t, std::vector<float>> by_id(const Outcome& run) {
    std::map<int64_t, std::vector<float>> rows;
    const auto width = std::size_t(run.embedding.width);
    for (std::size_t i = 0; i < run.hits.size(); ++i) {
        const float* row = run.embedding.rows.data() + i * width;
        rows[run.hits[i].id].assign(row, row + width);
    }
    return rows;
}

TEST(TrackingRun, HasTheSameTracksOnAnyNumberOfRanks) {
    const Outcome mine = run(MPI_COMM_WORLD, true), whole = run(MPI_COMM_SELF, true);
    const auto expected = by_id(whole);
    std::map<int64_t, int64_t> label;
    for (std::size_t i = 0; i < whole.hits.size(); ++i) label[whole.hits[i].id] = whole.labels[i];
    for (const auto& [id, row] : by_id(mine)) EXPECT_EQ(row, expected.at(id)) << "hit " << id;
    for (std::size_t i = 0; i < mine.hits.size(); ++i)
        EXPECT_EQ(mine.labels[i], label.at(mine.hits[i].id)) << "hit " << mine.hits[i].id;
}

TEST(TrackingRun, EventsDoNotSeeEachOther) {
    const auto both = by_id(run(MPI_COMM_WORLD, true)), first = by_id(run(MPI_COMM_WORLD, true, 1));
    for (const auto& [id, row] : first) EXPECT_EQ(row, both.at(id)) << "hit " << id;
}

TEST(TrackingRun, FindsMostParticlesOfEventsNeverSeen) {
    const Outcome mine = run(MPI_COMM_WORLD, false);
    const Score score = score_of(MPI_COMM_WORLD, collect(MPI_COMM_WORLD, mine.hits, mine.labels),
                                 collect(MPI_COMM_WORLD, mine.hits, true_labels(mine.hits)));
    const auto sum = [](const Score::Counts& c) {
        return double(std::accumulate(c.begin(), c.end(), int64_t{0}));
    };
    // Means of 20 events of this size are 0.97 and 0.01.
    EXPECT_GE(sum(score.n_found), 0.9 * sum(score.n_particle));
    EXPECT_LE(sum(score.n_fake), 0.05 * sum(score.n_candidate));
}

TEST(TrackingRun, RefusesAModelOfOtherFields) {
    EventShape shape;
    shape.n_hit = 300;
    const auto hits = read_events(MPI_COMM_WORLD, 1, 1, shape);
    EXPECT_THROW(
        {
            Embedder embedder(MPI_COMM_WORLD, models + "airflow.safetensors", false);
            embedder.plan(hits);
            embedder.embed(hits);
        },
        surrogate::Error);
    EXPECT_THROW(Embedder(MPI_COMM_WORLD, models + "none.safetensors", false), surrogate::Error);
}

/// This rank's own file of a series of one rank.
vtkUnstructuredGrid* read(vtkXMLUnstructuredGridReader* reader, const std::string& directory,
                          const std::string& name) {
    const std::string path = directory + "/" + name + "/step_000000.vtu";
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
    reader->SetFileName(path.c_str());
    reader->Update();
    return reader->GetOutput();
}

TEST(TrackingFiles, HaveHitsAsPointsAndTracksAsLines) {
    EventShape shape;
    shape.n_hit = 400;
    const auto hits = read_events(MPI_COMM_SELF, 6, 1, shape);
    const std::string directory = testing::TempDir() + "tracking_files_" +
                                  std::to_string(rank_of(MPI_COMM_WORLD)) + "_of_" +
                                  std::to_string(size_of(MPI_COMM_WORLD));
    make_directory(MPI_COMM_SELF, directory);
    const auto labels = true_labels(hits);
    const auto tracks = collect(MPI_COMM_SELF, hits, labels);
    write_hits(MPI_COMM_SELF, directory, hits, labels);
    write_tracks(MPI_COMM_SELF, directory, tracks);

    vtkNew<vtkXMLUnstructuredGridReader> of_hits, of_tracks;
    vtkUnstructuredGrid* points = read(of_hits, directory, "hits");
    ASSERT_EQ(points->GetNumberOfPoints(), vtkIdType(hits.size()));
    for (std::size_t i = 0; i < hits.size(); ++i) {
        const auto at = vtkIdType(i);
        EXPECT_NEAR(std::hypot(points->GetPoint(at)[0], points->GetPoint(at)[1]), hits[i].radius,
                    1e-9);
        EXPECT_EQ(points->GetPointData()->GetArray("layer")->GetTuple1(at), hits[i].layer);
        EXPECT_EQ(points->GetPointData()->GetArray("track")->GetTuple1(at), double(labels[i]));
    }
    vtkUnstructuredGrid* lines = read(of_tracks, directory, "tracks");
    ASSERT_EQ(lines->GetNumberOfCells(), vtkIdType(tracks.size()));
    for (std::size_t t = 0; t < tracks.size(); ++t) {
        vtkCell* line = lines->GetCell(vtkIdType(t));
        EXPECT_EQ(line->GetCellType(), 4);
        EXPECT_EQ(line->GetNumberOfPoints(), vtkIdType(tracks[t].hits.size()));
        EXPECT_EQ(lines->GetCellData()->GetArray("momentum")->GetTuple1(vtkIdType(t)),
                  tracks[t].momentum);
    }
    std::filesystem::remove_all(directory);
}

}  // namespace
