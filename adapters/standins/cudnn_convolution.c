/* cudnn_convolution.c - cuDNN's only convolution algorithm, without
 * workspace. */
#include "standin.h"

/* cudnnConvolutionFwdAlgoPerf_t and two similar structures */
struct performance {
    int algorithm;
    int status;
    float time;
    size_t memory;
    int determinism;
    int math;
    int reserved[3];
};

static int one_way(int room, int *count, struct performance *out)
{
    *count = room > 0;
    if (room > 0) {
        memset(out, 0, sizeof *out);
        out->algorithm = 1; /* exists for all three directions */
    }
    return 0;
}

#define ASKED(name)                                                            \
    STANDIN_OWN(int, name,                                                     \
                (void *handle, void *a, void *b, void *c, void *d, int room,   \
                 int *count, struct performance *out))                         \
    {                                                                          \
        (void)handle;                                                          \
        (void)a;                                                               \
        (void)b;                                                               \
        (void)c;                                                               \
        (void)d;                                                               \
        return one_way(room, count, out);                                      \
    }

ASKED(cudnnGetConvolutionForwardAlgorithm_v7)
ASKED(cudnnGetConvolutionBackwardDataAlgorithm_v7)
ASKED(cudnnGetConvolutionBackwardFilterAlgorithm_v7)

/* Finding an algorithm by trying gives the same result here. */
#define TRIED(name)                                                            \
    STANDIN_OWN(int, name,                                                     \
                (void *handle, void *a, void *pa, void *b, void *pb, void *c,  \
                 void *d, void *pd, int room, int *count,                      \
                 struct performance *out, void *workspace, size_t bytes))      \
    {                                                                          \
        (void)handle;                                                          \
        (void)a;                                                               \
        (void)pa;                                                              \
        (void)b;                                                               \
        (void)pb;                                                              \
        (void)c;                                                               \
        (void)d;                                                               \
        (void)pd;                                                              \
        (void)workspace;                                                       \
        (void)bytes;                                                           \
        return one_way(room, count, out);                                      \
    }

TRIED(cudnnFindConvolutionForwardAlgorithmEx)
TRIED(cudnnFindConvolutionBackwardDataAlgorithmEx)
TRIED(cudnnFindConvolutionBackwardFilterAlgorithmEx)
