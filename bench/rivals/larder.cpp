// larder.cpp - Larder's policies: larder, pytorch, direct; with settings after a
// blank, as "larder migrate:on".
#include <cstring>
#include <iostream>
#include <string>

#include "larder/larder.h"
#include "rivals/rival.h"

static larder_allocator *allocator;

void rival_begin(const char *name)
{
    std::string policy(name, std::strcspn(name, " "));
    const char *conf = name + policy.size();
    larder_options options;
    larder_device *device;

    larder_options_init(&options);
    options.conf = *conf == ' ' ? conf + 1 : "";
    if (larder_policy_parse(policy.c_str(), &options.policy) != LARDER_OK ||
        larder_device_open("cuda:0", 0, &device) != LARDER_OK ||
        larder_create(device, &options, &allocator) != LARDER_OK) {
        std::cerr << "rivals: " << larder_last_error() << '\n';
        std::exit(2);
    }
}

// Streams other than the default one have to be the driver's.
void *rival_allocate(uint64_t bytes, unsigned)
{
    larder_addr at = 0;

    return larder_alloc(allocator, bytes, 0, &at) == LARDER_OK
               ? reinterpret_cast<void *>(at)
               : nullptr;
}

void rival_free(void *address, uint64_t, unsigned)
{
    larder_free(allocator, reinterpret_cast<larder_addr>(address));
}
