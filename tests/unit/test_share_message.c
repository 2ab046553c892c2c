/* test_share_message.c - what a message about shared memory may say: its bytes,
 * and on both sides of each border. */
#include "support/rig.h"

#include "core/share/share_message.h"

#define PAGE (UINT64_C(2) << 20)

enum {
    SHARE_HEADER_BYTES = sizeof(struct share_header),
    SHARE_BATCH_BYTES = sizeof(struct share_batch)
};

_Static_assert((int)SHARE_HEADER_BYTES == 64, "as other processes send it");
_Static_assert((int)SHARE_BATCH_BYTES == 16 + 4 * 64, "the same");

static const larder_device_props props = {
    .total_bytes = 8 * PAGE,
    .granularity_bytes = PAGE,
    .uuid = {1, 2, 3},
};

static const struct share_header sound = {
    .magic = SHARE_HEADER_MAGIC,
    .version = SHARE_VERSION,
    .kind = LARDER_HANDLE_FD,
    .uuid = {1, 2, 3},
    .bytes = 3 * PAGE - 10,
    .offset = 10,
    .page_bytes = PAGE,
    .page_count = 3,
};

static larder_result header_read(const unsigned char *bytes,
                                 const larder_device_props *of)
{
    struct share_header got;

    memcpy(&got, bytes, sizeof got);
    return larder__share_header_check(&got, of);
}

static larder_result read_header(struct share_header h,
                                 const larder_device_props *of)
{
    return larder__share_header_check(&h, of);
}

#define TAKES(member, value)                                                   \
    do {                                                                       \
        struct share_header h_ = sound;                                        \
                                                                               \
        h_.member = (value);                                                   \
        assert_ok(read_header(h_, &props));                                    \
    } while (0)
#define REFUSES(member, value, words)                                          \
    do {                                                                       \
        struct share_header h_ = sound;                                        \
                                                                               \
        h_.member = (value);                                                   \
        assert_refused(LARDER_ERR_INVALID, read_header(h_, &props), words);    \
    } while (0)

static void a_header_is_written_lowest_byte_first(void **state)
{
    const struct share_header h = {.magic = SHARE_HEADER_MAGIC,
                                   .version = SHARE_VERSION,
                                   .kind = LARDER_HANDLE_FABRIC,
                                   .uuid = {0xA0, [15] = 0xAF},
                                   .bytes = UINT64_C(0x0102030405060708),
                                   .offset = 0x11,
                                   .page_bytes = 0x200000,
                                   .page_count = 0x33};
    static const unsigned char want[SHARE_HEADER_BYTES] =
        "lardrSH1\x02\0\0\0K\0\0\0\xA0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xAF"
        "\x08\x07\x06\x05\x04\x03\x02\x01\x11\0\0\0\0\0\0\0"
        "\0\0\x20\0\0\0\0\0\x33\0\0\0\0\0\0";
    unsigned char bytes[SHARE_HEADER_BYTES];

    (void)state;
    memcpy(bytes, &h, sizeof bytes);
    assert_int_equal(bytes[12], LARDER_HANDLE_FABRIC);
    bytes[12] = 'K';
    assert_memory_equal(bytes, want, sizeof want);
}

static void pages_fit_the_device(void **state)
{
    (void)state;
    TAKES(page_bytes, PAGE);
    TAKES(page_bytes, 2 * PAGE);
    REFUSES(page_bytes, 0, "pages of 0 bytes");
    REFUSES(page_bytes, PAGE + 1, "a multiple of 2097152");
    REFUSES(page_bytes, 9 * PAGE, "up to 16777216");
    TAKES(page_count, 3);
    TAKES(page_count, 8);
    REFUSES(page_count, 0, "expected 1 to 8");
    REFUSES(page_count, 9, "expected 1 to 8");
}

static void a_device_without_granularity_takes_nothing(void **state)
{
    larder_device_props none = props;

    (void)state;
    none.granularity_bytes = 0;
    assert_result(LARDER_ERR_INVALID, read_header(sound, &none));
}

static void one_page_may_be_all_of_a_device(void **state)
{
    struct share_header h = sound;

    (void)state;
    h.page_bytes = 8 * PAGE;
    h.page_count = 1;
    h.bytes = 8 * PAGE - 10;
    assert_ok(read_header(h, &props));
}

static void the_allocation_is_within_the_pages(void **state)
{
    (void)state;
    TAKES(bytes, 1);
    TAKES(bytes, 3 * PAGE - 10);
    REFUSES(bytes, 0, "does not fit");
    REFUSES(bytes, 3 * PAGE - 9, "does not fit");
    TAKES(offset, 0);
    REFUSES(offset, 11, "does not fit");
    REFUSES(offset, 3 * PAGE, "does not fit");
    REFUSES(offset, 3 * PAGE + 1, "does not fit");
    REFUSES(offset, UINT64_MAX, "does not fit");
}

static void the_last_byte_can_be_all_that_is_shared(void **state)
{
    struct share_header h = sound;

    (void)state;
    h.offset = 3 * PAGE - 1;
    h.bytes = 1;
    assert_ok(read_header(h, &props));
}

static void handles_are_descriptors_or_of_a_fabric(void **state)
{
    (void)state;
    TAKES(kind, LARDER_HANDLE_FD);
    TAKES(kind, LARDER_HANDLE_FABRIC);
    REFUSES(kind, (larder_handle_kind)77, "handles of kind 77");
}

/* As far as both have said which they are. */
static void memory_of_another_device_is_refused(void **state)
{
    larder_device_props unknown = props;
    struct share_header h = sound;

    (void)state;
    REFUSES(uuid[0], 2, "begins with 02020300, that of this one with 01020300");
    REFUSES(uuid[15], 1, "another device");
    memset(h.uuid, 0, sizeof h.uuid);
    assert_ok(read_header(h, &props));
    memset(unknown.uuid, 0, sizeof unknown.uuid);
    assert_ok(read_header(sound, &unknown));
}

static void other_messages_and_versions_are_refused(void **state)
{
    unsigned char bytes[SHARE_HEADER_BYTES];

    (void)state;
    memcpy(bytes, &sound, sizeof bytes);
    for (int i = 0; i < 8; i++) {
        bytes[i] ^= 0x80;
        assert_refused(LARDER_ERR_INVALID, header_read(bytes, &props),
                       "larder_export_send()");
        bytes[i] ^= 0x80;
    }
    bytes[8]++;
    assert_refused(LARDER_ERR_INVALID, header_read(bytes, &props),
                   "has version 3: expected");
}

/* ---- batches --------------------------------------------------------------- */

static larder_result read_batch(const struct share_batch *b, uint64_t first,
                                uint64_t left)
{
    struct share_batch sent = *b;

    sent.magic = SHARE_BATCH_MAGIC;
    return larder__share_batch_check(&sent, first, left);
}

static void a_batch_has_no_more_pages_than_are_missing(void **state)
{
    const struct share_batch b = {.first = 5, .count = 3, .pages = {1, 300, 2}};
    const struct share_batch none = {.first = 5, .count = 2, .pages = {1, 0}};

    (void)state;
    assert_ok(read_batch(&b, 5, 303));
    assert_ok(read_batch(&b, 5, 400));
    assert_refused(LARDER_ERR_INVALID, read_batch(&b, 5, 302),
                   "a handle of 2 pages where 1 are missing");
    assert_result(LARDER_ERR_INVALID, read_batch(&none, 5, 10));
    assert_result(LARDER_ERR_INVALID, read_batch(&b, 4, 400));
    assert_result(LARDER_ERR_INVALID, read_batch(&b, 6, 400));
}

static void a_batch_has_a_handle_and_64_at_most(void **state)
{
    struct share_batch b = {.magic = SHARE_BATCH_MAGIC,
                            .count = SHARE_BATCH_MAX};

    (void)state;
    for (int i = 0; i < SHARE_BATCH_MAX; i++)
        b.pages[i] = 1;
    assert_ok(read_batch(&b, 0, 64));
    b.count = SHARE_BATCH_MAX + 1;
    assert_result(LARDER_ERR_INVALID, larder__share_batch_check(&b, 0, 999));
    b.count = 0;
    assert_result(LARDER_ERR_INVALID, larder__share_batch_check(&b, 0, 999));
    b.count = 1;
    assert_ok(larder__share_batch_check(&b, 0, 999));
    b.magic ^= 1;
    assert_result(LARDER_ERR_INVALID, larder__share_batch_check(&b, 0, 999));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_is_written_lowest_byte_first),
        cmocka_unit_test(pages_fit_the_device),
        cmocka_unit_test(a_device_without_granularity_takes_nothing),
        cmocka_unit_test(one_page_may_be_all_of_a_device),
        cmocka_unit_test(the_allocation_is_within_the_pages),
        cmocka_unit_test(the_last_byte_can_be_all_that_is_shared),
        cmocka_unit_test(handles_are_descriptors_or_of_a_fabric),
        cmocka_unit_test(memory_of_another_device_is_refused),
        cmocka_unit_test(other_messages_and_versions_are_refused),
        cmocka_unit_test(a_batch_has_no_more_pages_than_are_missing),
        cmocka_unit_test(a_batch_has_a_handle_and_64_at_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
