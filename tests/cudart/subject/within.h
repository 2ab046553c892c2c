/* within.h - shared by the parts of a program that has NVIDIA's runtime within
 * it, for `larder exec`. */
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

#define CHECK(truth)                                                           \
    do {                                                                       \
        if (!(truth)) {                                                        \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #truth);         \
            exit(99);                                                          \
        }                                                                      \
    } while (0)

#define ANSWERS(answer, call)                                                  \
    do {                                                                       \
        cudaError_t answered = (call);                                         \
        if (answered != (answer)) {                                            \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call,               \
                   cudaGetErrorName(answered));                                \
            exit(99);                                                          \
        }                                                                      \
        (void)cudaGetLastError();                                              \
    } while (0)

#define MUST(call) ANSWERS(cudaSuccess, call)

extern __device__ int shared_by_parts[4];

// Launches a kernel that is in the other part, which it also fills in for.
void launch_other_part(float *to, cudaStream_t stream);
