/* hello.c - allocate and free on a simulated GPU. */
#include <inttypes.h>
#include <stdio.h>

#include <larder/larder.h>

int main(void)
{
    larder_device *dev;
    larder_allocator *a;
    larder_addr p;

    if (larder_device_open("sim:80GiB", 0, &dev) != LARDER_OK ||
        larder_create(dev, NULL, &a) != LARDER_OK ||
        larder_alloc(a, 1 << 20, 0, &p) != LARDER_OK) {
        puts(larder_last_error());
        return 1;
    }
    printf("1 MiB of device memory at 0x%" PRIx64 "\n", p);
    larder_free(a, p);
    larder_destroy(a);
    larder_device_close(dev);
    return 0;
}
