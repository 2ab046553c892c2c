/* cuda_types_own.c - sizes and offsets of our own declarations of the driver's
 * types, in the order of test_cuda_header.c, which has the toolkit's. */
#include "device/cuda_driver.h"

size_t cuda_types_own(size_t sizes[], int count);

size_t cuda_types_own(size_t sizes[], int count)
{
    static const size_t ours[] = {
        sizeof(cud_result),
        sizeof(cud_device),
        sizeof(cud_attribute),
        sizeof(cud_capture_mode),
        sizeof(cud_capture_status),
        sizeof(cud_granularity),
        sizeof(cud_handle_type),
        sizeof(cud_uuid),
        sizeof(cud_ipc_handle),
        sizeof(cud_context),
        sizeof(cud_stream),
        sizeof(cud_event),
        sizeof(cud_addr),
        sizeof(cud_page),
        sizeof(cud_location),
        sizeof(cud_page_prop),
        sizeof(cud_access),
        offsetof(cud_page_prop, type),
        offsetof(cud_page_prop, requestedHandleTypes),
        offsetof(cud_page_prop, location),
        offsetof(cud_page_prop, win32HandleMetaData),
        offsetof(cud_page_prop, allocFlags),
        offsetof(cud_access, location),
        offsetof(cud_access, flags),
    };
    size_t known = sizeof ours / sizeof ours[0];

    for (size_t i = 0; i < known && i < (size_t)count; i++)
        sizes[i] = ours[i];
    return known;
}
