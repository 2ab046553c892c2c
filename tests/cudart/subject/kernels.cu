// kernels.cu - a program of the CUDA runtime, for `larder exec`: memory from
// both kinds of allocation, a variable, a kernel, a captured graph.
//
// kernels [BYTES]: asks for so much besides, and says what came of it.
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

__device__ int variable;

__global__ void add(float *to, const float *from, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        to[i] += from[i];
}

static void must(cudaError_t answer, const char *what)
{
    if (answer == cudaSuccess)
        return;
    printf("%s: %s\n", what, cudaGetErrorName(answer));
    exit(99);
}

#define MUST(call) must(call, #call)

static void use_a_graph(float *a, float *b)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    MUST(cudaStreamCreate(&stream));
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, stream>>>(a, b, 1);
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    MUST(cudaGraphLaunch(exec, stream));
    MUST(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    cudaDeviceProp properties;
    float *a;
    float *b;
    int set = 7;
    int got = 0;

    MUST(cudaGetDeviceProperties(&properties, 0));
    printf("capability %d.%d, %zu MiB\n", properties.major, properties.minor,
           properties.totalGlobalMem >> 20);
    MUST(cudaMalloc(&a, 8 << 20));
    MUST(cudaMallocAsync(&b, 4 << 20, 0));
    add<<<128, 256>>>(a, b, 1 << 18);
    MUST(cudaGetLastError());
    MUST(cudaMemcpyToSymbol(variable, &set, sizeof set));
    MUST(cudaMemcpyFromSymbol(&got, variable, sizeof got));
    use_a_graph(a, b);
    MUST(cudaFreeAsync(b, 0));
    MUST(cudaFree(a));
    MUST(cudaDeviceSynchronize());
    if (argc > 1)
        printf("more: %s\n",
               cudaGetErrorName(cudaMalloc(&a, strtoull(argv[1], NULL, 0))));
    return got == set ? 0 : 99;
}
