// SPDX-License-Identifier: Apache-2.0
// surrogate_plan_run_vec of a plan with backend cuda on an emulated device: Vecs that say they lie
// there, Vecs on the host, and both.
#include <surrogate/surrogate_petsc.h>

#include <limits>

#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/coupling/petsc/petsc_environment.hpp"
#include "tests/coupling/petsc/petsc_pretend.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/device_case.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {
namespace {

const auto* const environment =
    static_cast<PetscEnvironment*>(testing::AddGlobalTestEnvironment(new PetscEnvironment));

static_assert(sizeof(PetscScalar) == sizeof(double), "arrays of DarcyCase are handed to PETSc");

/// A Vec on memory of the device, or of the host.
class TestVec {
public:
    TestVec(std::vector<double>& values, bool is_on_device, PetscMemType told = PETSC_MEMTYPE_CUDA)
        : values_(values) {
        build(is_on_device, told);
    }
    ~TestVec() { std::ignore = VecDestroy(&vec_); }
    TestVec(const TestVec&) = delete;
    TestVec& operator=(const TestVec&) = delete;

    Vec get() const { return vec_; }
    std::vector<double> values() const { return on_device_ ? on_device_->get() : values_; }

private:
    void build(bool is_on_device, PetscMemType told) {
        if (is_on_device)
            on_device_ = std::make_unique<DeviceArray<double>>(emulated_device(), values_);
        double* data = on_device_ ? on_device_->data() : values_.data();
        PETSC_OK(VecCreateMPIWithArray(PETSC_COMM_WORLD, 1, static_cast<PetscInt>(values_.size()),
                                       PETSC_DETERMINE, data, &vec_));
        if (is_on_device) pretend(vec_, told);
    }

    std::vector<double>& values_;
    std::unique_ptr<DeviceArray<double>> on_device_;
    Vec vec_ = nullptr;
};

class PetscEmulated : public testing::Test {
protected:
    surrogate_plan* plan_with(const char* backend) {
        plans.emplace_back(model, domain, Options{{"backend", backend}});
        return plans.back().get();
    }
    PetscErrorCode run(surrogate_plan* plan, const TestVec& from, const TestVec& to) {
        const surrogate_vec_field in = {"mobility", "m^2/(Pa s)", from.get(), 0, 0};
        const surrogate_vec_field out = {"pressure", "Pa", to.get(), 0, 0};
        return surrogate_plan_run_vec(plan, 1, &in, 1, &out);
    }
    /// Pressures with input and output here and there; the run must succeed.
    std::vector<double> predict(surrogate_plan* plan, bool in_on_device, bool out_on_device) {
        std::vector<double> pressure(points.mobility.size(), -1);
        const TestVec in(points.mobility, in_on_device), out(pressure, out_on_device);
        const PetscErrorCode error = run(plan, in, out);
        EXPECT_EQ(error, 0) << petsc_text(error);
        EXPECT_EQ(in.values(), points.mobility);
        return out.values();
    }

    const Context context = device_context(emulated_kind, impl::mpi_communicator(PETSC_COMM_WORLD));
    const Model model{context, small_darcy_model()};
    DarcyCase points{own_rows("scattered", 40, PETSC_COMM_WORLD)};
    const Domain domain = points.domain(context);
    std::vector<Plan> plans;
};

TEST_F(PetscEmulated, VecsAreUsedWhereTheyLie) {
    surrogate_plan* plan = plan_with("cuda");
    const std::vector<double> expected = predict(plan, false, false);
    EXPECT_NE(expected, std::vector<double>(expected.size(), -1));
    for (const bool in_on_device : {false, true})
        for (const bool out_on_device : {false, true})
            EXPECT_EQ(predict(plan, in_on_device, out_on_device), expected);
}

TEST_F(PetscEmulated, VecsOnTheDeviceAreNotCopied) {
    surrogate_plan* plan = plan_with("cuda");
    const auto n_copy = [&](bool is_on_device) {
        std::vector<double> pressure(points.mobility.size(), -1);
        const TestVec in(points.mobility, is_on_device), out(pressure, is_on_device);
        const int64_t before = emulated_device().counts().n_copy;
        EXPECT_EQ(run(plan, in, out), 0);
        return emulated_device().counts().n_copy - before;
    };
    n_copy(false);
    EXPECT_EQ(n_copy(false), n_copy(true) + 2);
}

TEST_F(PetscEmulated, PlansOnTheHostTakeThemToo) {
    surrogate_plan* plan = plan_with("simd");
    const std::vector<double> expected = predict(plan, false, false);
    EXPECT_EQ(predict(plan, true, true), expected);
    EXPECT_EQ(pretended.n_asked, 0);
}

TEST_F(PetscEmulated, MemoryOfOtherDevicesIsRefusedAndNobodyWaits) {
    surrogate_plan* plan = plan_with("cuda");
    const std::vector<double> expected = predict(plan, true, true);
    const bool is_culprit = rank_of(PETSC_COMM_WORLD) == 0;
    {
        std::vector<double> pressure(points.mobility.size(), -1);
        const TestVec in(points.mobility, true,
                         is_culprit ? PETSC_MEMTYPE_HIP : PETSC_MEMTYPE_CUDA);
        const TestVec out(pressure, true);
        const PetscErrorCode error = run(plan, in, out);
        EXPECT_EQ(error, is_culprit ? PETSC_ERR_SUP : PETSC_ERR_FP) << petsc_text(error);
        if (is_culprit) {
            EXPECT_NE(petsc_text(error).find("mobility: the Vec is in HIP memory"),
                      std::string::npos)
                << petsc_text(error);
        }
    }
    EXPECT_EQ(predict(plan, true, true), expected);
}

TEST_F(PetscEmulated, NanOnTheDeviceIsReportedByAll) {
    surrogate_plan* plan = plan_with("cuda");
    const std::vector<double> expected = predict(plan, true, true);
    const double good = points.mobility[2];
    if (rank_of(PETSC_COMM_WORLD) == 0)
        points.mobility[2] = std::numeric_limits<double>::quiet_NaN();
    {
        std::vector<double> pressure(points.mobility.size(), -1);
        const TestVec in(points.mobility, true), out(pressure, true);
        EXPECT_EQ(run(plan, in, out), PETSC_ERR_FP);
    }
    points.mobility[2] = good;
    EXPECT_EQ(predict(plan, true, true), expected);
}

}  // namespace
}  // namespace surrogate::test
