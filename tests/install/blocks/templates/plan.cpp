// needs: surrogate_mpi
#include <surrogate/surrogate_mpi.hpp>
#include <vector>

// A clock of three steps.
struct Clock {
    int n = 0;
    bool operator<(int end) { return n++ < end; }
};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    {
        const MPI_Comm comm = MPI_COMM_WORLD;
        int rank = 0, size = 1, end = 3;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        std::vector<double> x, m;
        std::vector<int64_t> ids;
        for (int cell = rank; cell < 400; cell += size) {
            x.insert(x.end(), {(cell / 20 + 0.5) / 20, (cell % 20 + 0.5) / 20});
            m.push_back(5);
            ids.push_back(cell);
        }
        std::vector<double> p(m.size(), -1);
        const double *xy = x.data(), *mobility = m.data();
        double* pressure = p.data();
        const int64_t *global_id = ids.data(), n_local = static_cast<int64_t>(m.size());
        Clock time;
        @block@
        for (double value : p)
            if (!(value >= 0 && value < 0.1)) MPI_Abort(comm, 1);
    }
    MPI_Finalize();
}
