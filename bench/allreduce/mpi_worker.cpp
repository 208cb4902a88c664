// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by OpenMPI, started by mpirun: bench_allreduce_mpi BYTES:ROUNDS…
#include <mpi.h>

#include <exception>

#include "bench/allreduce/workload.h"

int main(int count, char** words) {
    MPI_Init(&count, &words);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const auto sum = [](std::span<int32_t> vector) {
        return MPI_Allreduce(MPI_IN_PLACE, vector.data(), static_cast<int>(vector.size()), MPI_INT32_T,
                             MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS;
    };
    int result = 2;
    try {
        const std::span<char* const> all(words, static_cast<size_t>(count));
        result = pktpit::bench::allreduce::measure<int32_t>(
            static_cast<unsigned>(rank), static_cast<unsigned>(ranks),
            pktpit::bench::allreduce::steps_of(all.subspan(1)), sum);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", words[0], error.what());
    }
    MPI_Finalize();
    return result;
}
