/* test_snapshot_write.c - what a snapshot says, as JSON and as a pickle.
 * tests/cli/replay_snapshot.sh tests what Python and PyTorch make of them. */
#include "snapshot_rig.h"

#include "snapshot/snapshot.h"
#include "support/read_file.h"

static void json_has_segments_blocks_and_events(void **state)
{
    struct rig rig =
        rig_up("sim:1GiB,backing=none,events=manual,count=3", "history:9");
    char want[1024];
    larder_addr p;
    struct bytes b;

    (void)state;
    p = rig_alloc_on(&rig, 1000, 2);
    rig_alloc_on(&rig, 600, 2);
    assert_ok(larder_record_stream(rig.a, p, 1));
    rig_free(&rig, p);
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    snprintf(want, sizeof want,
             "{\"segments\":[{\"device\":0,\"address\":%llu,"
             "\"total_size\":2097152,\"allocated_size\":1024,"
             "\"active_size\":2048,\"requested_size\":1600,\"stream\":2,"
             "\"segment_type\":\"small\",\"segment_pool_id\":[0,0],"
             "\"is_expandable\":false,\"frames\":[],\"blocks\":["
             "{\"address\":%llu,\"size\":1024,\"requested_size\":1000,"
             "\"state\":\"active_pending_free\",\"frames\":[]},"
             "{\"address\":%llu,\"size\":1024,\"requested_size\":600,"
             "\"state\":\"active_allocated\",\"frames\":[]},"
             "{\"address\":%llu,\"size\":2095104,\"requested_size\":0,"
             "\"state\":\"inactive\",\"frames\":[]}]}],"
             "\"device_traces\":[[{\"action\":\"segment_alloc\",",
             (unsigned long long)p, (unsigned long long)p,
             (unsigned long long)p + 1024, (unsigned long long)p + 2048);
    assert_memory_equal(b.at, want, strlen(want));
    assert_has(&b, "{\"action\":\"free_requested\",\"addr\":");
    assert_has(&b, "{\"action\":\"snapshot\",\"addr\":0,\"size\":2048,");
    assert_has(&b, "\"external_annotations\":[]");
    assert_has(&b, "\"history_lost_events\":0");
    assert_int_equal(b.at[b.count - 1], '\n');
    free(b.at);
    rig_down(&rig);
}

/* The n-th list of traces belongs to the n-th device. */
static void events_are_in_the_list_of_their_device(void **state)
{
    struct rig rig;
    larder_options opt;
    struct bytes b;

    (void)state;
    larder_options_init(&opt);
    opt.conf = "history:9";
    assert_ok(larder_device_open("sim:1GiB,backing=none,count=3", 2, &rig.dev));
    assert_ok(larder_create(rig.dev, &opt, &rig.a));
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    assert_has(&b, "\"device_traces\":[[],[],[{\"action\":\"snapshot\"");
    free(b.at);
    rig_down(&rig);
}

static void without_history_there_are_segments_and_settings(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none",
                            "expandable_segments:True,max_split_size_mb:64,"
                            "roundup_power2_divisions:[256:1,512:2,>:8],"
                            "garbage_collection_threshold:0.6,"
                            "limit:512MiB");
    struct bytes b;

    (void)state;
    rig_alloc(&rig, 1000);
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    assert_has(&b, "\"is_expandable\":true");
    assert_has(&b, "\"device_traces\":[[]]");
    assert_has(&b, "\"PYTORCH_CUDA_ALLOC_CONF\":\"max_split_size_mb:64,"
                   "roundup_power2_divisions:[1:1,2:1,4:1,8:1,16:1,32:1,64:1,"
                   "128:1,256:1,512:8,1024:8,2048:8,4096:8,8192:8,16384:8,"
                   "32768:8],garbage_collection_threshold:0.6,"
                   "expandable_segments:True\"");
    assert_has(&b, "\"max_split_size\":67108864,"
                   "\"garbage_collection_threshold\":0.59999999999999998,"
                   "\"expandable_segments\":true,");
    assert_has(&b, "\"roundup_power2_divisions\":{\"1\":1,\"2\":1,");
    assert_has(&b, "expandable_segments:True,limit:536870912\"");
    assert_has(&b, "\"history\":false");
    assert_has(&b, "\"allocation.all.current\":1,");
    free(b.at);
    rig_down(&rig);
}

#define PYTORCH_CONF                                                           \
    "max_split_size_mb:128,max_non_split_rounding_mb:1024,"                    \
    "large_segment_size_mb:64,expandable_segments_reserve:2.5G,"               \
    "roundup_power2_divisions:4,"                                              \
    "per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True"
#define OWN_CONF "preallocate:33554432,defrag:off,lifetimes:off"

/* PyTorch's keys, and Larder's up to its statistics; except the device's
 * name. */
static void settings_have_every_key(void **state)
{
    struct rig rig = rig_up_policy(
        "sim:1GiB,backing=none", LARDER_POLICY_LARDER,
        PYTORCH_CONF "," OWN_CONF ",pinned_max_round_threshold_mb:4");
    struct bytes b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);

    (void)state;
    assert_has(
        &b,
        "\"allocator_settings\":{\"PYTORCH_CUDA_ALLOC_CONF\":\"" PYTORCH_CONF
        "\",\"max_split_size\":134217728,"
        "\"garbage_collection_threshold\":0.0,"
        "\"expandable_segments\":false,"
        "\"pinned_num_register_threads\":1,"
        "\"release_lock_on_cudamalloc\":false,"
        "\"pinned_use_cuda_host_register\":false,"
        "\"graph_capture_record_stream_reuse\":false,"
        "\"max_round_threshold\":4194304,\"max_cached_size\":-1,"
        "\"roundup_power2_divisions\":{\"1\":4,\"2\":4,\"4\":4,\"8\":4,"
        "\"16\":4,\"32\":4,\"64\":4,\"128\":4,\"256\":4,\"512\":4,"
        "\"1024\":4,\"2048\":4,\"4096\":4,\"8192\":4,\"16384\":4,"
        "\"32768\":4}}");
    assert_has(&b, "\"larder\":{\"version\":\"" LARDER_VERSION_STRING
                   "\",\"policy\":\"larder\",\"conf\":\"" PYTORCH_CONF
                   "," OWN_CONF "\",\"device_name\":\"");
    assert_has(&b, "\"device_total_bytes\":1073741824,"
                   "\"allowed_bytes\":536870912,\"history\":false,"
                   "\"history_max_events\":0,\"history_lost_events\":0,"
                   "\"history_stacks\":\"off\",\"history_stack_count\":0,"
                   "\"history_lost_stacks\":0,\"history_lost_notes\":0,"
                   "\"stats\":{\"allocation.all.current\":0,");
    free(b.at);
    rig_down(&rig);
}

static void assert_has_number(const struct bytes *b, const char *key,
                              int64_t value, char end)
{
    char words[128];

    (void)snprintf(words, sizeof words, "\"%s\":%lld%c", key, (long long)value,
                   end);
    assert_has(b, words);
}

/* One statistic, as torch.cuda.memory_stats() names its four numbers. */
static void assert_has_stat(const struct bytes *b, const char *name,
                            const char *pool, const larder_stat *st)
{
    const char *const parts[] = {"current", "peak", "allocated", "freed"};
    const int64_t values[] = {st->current, st->peak, st->allocated, st->freed};

    for (int i = 0; i < 4; i++) {
        char key[96];

        (void)snprintf(key, sizeof key, "%s%s.%s", name, pool, parts[i]);
        assert_has_number(b, key, values[i], ',');
    }
}

/* Small, large and oversize memory, of which some is freed. */
static void every_statistic_is_there(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "max_split_size_mb:30");
    larder_addr big = rig_alloc(&rig, MIB(40));
    larder_addr addr;
    larder_stats st;
    struct bytes b;

    (void)state;
    (void)rig_alloc(&rig, MIB(50));
    (void)rig_alloc(&rig, MIB(7));
    rig_free(&rig, rig_alloc(&rig, MIB(3)));
    rig_free(&rig, rig_alloc(&rig, 1000));
    (void)rig_alloc(&rig, 5000);
    rig_free(&rig, big);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, GIB(2), 0, &addr));
    st = rig_stats(&rig);
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
#define X(name, text)                                                          \
    assert_has_stat(&b, #name, ".all", &st.name.all);                          \
    assert_has_stat(&b, #name, ".small_pool", &st.name.small_pool);            \
    assert_has_stat(&b, #name, ".large_pool", &st.name.large_pool);
    LARDER_METRIC_MAP(X)
#undef X
    assert_has_stat(&b, "oversize_allocations", "", &st.oversize_allocations);
    assert_has_stat(&b, "oversize_segments", "", &st.oversize_segments);
#define X(name, text) assert_has_number(&b, #name, st.name, ',');
    LARDER_COUNTER_MAP(X)
#undef X
    assert_has_number(&b, "max_split_size", MIB(30), '}');
    assert_int_equal(st.oversize_allocations.peak, 2);
    assert_int_equal(st.num_ooms, 1);
    free(b.at);
    rig_down(&rig);
}

/* One word for each setting that is not at its default, nothing for the
 * others. */
static void settings_at_their_defaults_are_left_out(void **state)
{
    static const char *const confs[] = {"defrag:eager", "migrate:on",
                                        "limit:1073741824",
                                        "garbage_collection_threshold:0.8"};

    (void)state;
    for (size_t i = 0; i < 1 + sizeof confs / sizeof confs[0]; i++) {
        const char *conf = i == 0 ? "" : confs[i - 1];
        struct rig rig =
            rig_up_policy("sim:2GiB,backing=none", LARDER_POLICY_LARDER, conf);
        struct bytes b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
        char want[128];

        snprintf(want, sizeof want, "\"policy\":\"larder\",\"conf\":\"%s\",",
                 conf);
        assert_has(&b, want);
        free(b.at);
        rig_down(&rig);
    }
}

/* The used and the free parts of a piece that is one event. */
static void a_reserved_piece_is_written_whole(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "history:9");
    struct bytes b;

    (void)state;
    assert_ok(larder_reserve(rig.a, MIB(64)));
    rig_alloc(&rig, 1000);
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    assert_has(&b, "\"total_size\":2097152,");
    assert_has(&b, "\"total_size\":65011712,\"allocated_size\":0,");
    assert_has(&b, "\"is_reserved\":true,\"frames\":[],\"blocks\":[{"
                   "\"address\":");
    assert_has(&b, "\"size\":65011712,\"requested_size\":0,"
                   "\"state\":\"inactive\",\"frames\":[]}]}],");
    free(b.at);
    rig_down(&rig);
}

/* A number that is different each time. */
static void hide_times(char *text)
{
    static const char key[] = "\"time_us\":";
    char *to = text;

    while (*text != '\0') {
        bool is_time = strncmp(text, key, sizeof key - 1) == 0;
        size_t n = is_time ? sizeof key - 1 : 1;

        memmove(to, text, n);
        to += n;
        text += n;
        if (is_time) {
            assert_in_range(*text, '1', '9');
            text += strspn(text, "0123456789");
            *to++ = 'T';
        }
    }
    *to = '\0';
}

#define EVENT_END                                                              \
    "\"time_us\":T,\"device\":0,\"pool_id\":[0,0],\"frames\":[],"              \
    "\"user_metadata\":\"%s\",\"compile_context\":\"N/A\"}"

static void json_has_events_and_marks_to_the_letter(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none,count=3", "history:9");
    char want[2048];
    struct bytes b;
    larder_addr p;

    (void)state;
    larder_annotate("one");
    p = rig_alloc_on(&rig, 1000, 2);
    larder_annotate(NULL);
    rig_free(&rig, p);
    assert_ok(larder_history_mark(rig.a, "first"));
    assert_ok(larder_history_mark(rig.a, "second"));
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    hide_times(b.at);
    snprintf(want, sizeof want,
             "\"device_traces\":[[{\"action\":\"segment_alloc\",\"addr\":%llu,"
             "\"size\":2097152,\"stream\":2," EVENT_END
             ",{\"action\":\"alloc\",\"addr\":%llu,\"size\":1000,\"stream\":"
             "2," EVENT_END ",{\"action\":\"free_requested\",\"addr\":%llu,"
             "\"size\":1000,\"stream\":2," EVENT_END
             ",{\"action\":\"free_completed\",\"addr\":%llu,\"size\":1000,"
             "\"stream\":2," EVENT_END ",{\"action\":\"snapshot\",\"addr\":0,"
             "\"size\":0,\"stream\":0," EVENT_END "]],"
             "\"allocator_settings\":{",
             (unsigned long long)p, "one", (unsigned long long)p, "one",
             (unsigned long long)p, "", (unsigned long long)p, "", "");
    assert_has(&b, want);
    assert_has(&b, "\"external_annotations\":[{\"name\":\"first\","
                   "\"stage\":\"START\",\"device\":0,\"time_us\":T},"
                   "{\"name\":\"second\",\"stage\":\"START\",\"device\":0,"
                   "\"time_us\":T}],\"host_segments\":[],");
    free(b.at);
    rig_down(&rig);
}

static void text_is_escaped(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "history:9");
    struct bytes b;

    (void)state;
    larder_annotate(
        "a\"b\\c\n\x01 \xC3\xA4 \xFF \xED\xA0\x80 \xF0\x9F\x98\x80");
    rig_alloc(&rig, 1000);
    larder_annotate(NULL);
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    assert_has(&b, "\"user_metadata\":\"a\\\"b\\\\c\\u000a\\u0001 \xC3\xA4 "
                   "\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD "
                   "\xF0\x9F\x98\x80\"");
    free(b.at);
    rig_down(&rig);
}

/* Keys that PyTorch always writes, even if empty. */
static void empty_fields_are_written(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none",
                            "history:9,pinned_max_cached_size_mb:2");
    struct bytes b;

    (void)state;
    rig_alloc(&rig, 1000);
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    assert_has(&b, "\"user_metadata\":\"\",\"compile_context\":\"N/A\"");
    assert_has(&b, "\"host_segments\":[],\"host_traces\":[]");
    assert_has(&b, "\"max_round_threshold\":-1,\"max_cached_size\":2097152");
    free(b.at);
    rig_down(&rig);
}

/* Numbers of every width of protocol 4. */
static void a_pickle_holds_numbers_of_64_bits(void **state)
{
    static const char pair[] = "segment_pool_id\x94"
                               "\x8A\x09\x01\0\0\0\0\0\0\x80\0"
                               "\x8A\x05\0\x5E\xD0\xB2\0\x86";
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    larder_pool_id id = {UINT64_C(0x8000000000000001), 3000000000};
    struct bytes b;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    rig_alloc(&rig, 1000);
    assert_ok(larder_pool_end(rig.a, id));
    b = snapshot_of(&rig, LARDER_SNAPSHOT_PICKLE);
    assert_non_null(memmem(b.at, b.count, pair, sizeof pair - 1));
    free(b.at);
    rig_down(&rig);
}

static struct snapshot *read_back(struct rig *rig, struct folder *f,
                                  const char *name)
{
    struct snapshot *s = NULL;
    struct tool_error error;

    assert_ok(larder_snapshot_write(rig->a, folder_file(f, name), NULL));
    if (!snapshot_read(f->file, NULL, &s, &error))
        fail_msg("%s", error.text);
    return s;
}

static void assert_same_strings(const struct snapshot *a,
                                const struct snapshot *b)
{
    assert_int_equal(a->string_count, b->string_count);
    for (uint32_t i = 0; i < a->string_count; i++)
        assert_string_equal(snapshot_string(a, i), snapshot_string(b, i));
}

/* Except for times, which each snapshot computes again. */
static void assert_same_events(const struct snapshot *a,
                               const struct snapshot *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct snapshot_event x = a->events[i];
        struct snapshot_event y = b->events[i];

        assert_true(x.time_us > 0 && y.time_us > 0);
        x.time_us = y.time_us = 0;
        assert_memory_equal(&x, &y, sizeof x);
    }
    assert_int_equal(a->annotation_count, b->annotation_count);
    for (size_t i = 0; i < a->annotation_count; i++) {
        const struct snapshot_annotation *x = &a->annotations[i];
        const struct snapshot_annotation *y = &b->annotations[i];

        assert_true(x->name == y->name && x->stage == y->stage &&
                    x->device == y->device && x->time_us > 0 && y->time_us > 0);
    }
}

#define SAME(member) assert_true(x->member == y->member)

static void assert_same_segments(const struct snapshot *a,
                                 const struct snapshot *b)
{
    assert_int_equal(a->segment_count, b->segment_count);
    for (size_t i = 0; i < a->segment_count; i++) {
        const struct snapshot_segment *x = &a->segments[i];
        const struct snapshot_segment *y = &b->segments[i];

        SAME(address);
        SAME(total_size);
        SAME(allocated_size);
        SAME(active_size);
        SAME(requested_size);
        SAME(block);
        SAME(block_count);
        SAME(stack);
        SAME(stream);
        SAME(pool);
        SAME(device);
        SAME(type);
        SAME(expandable);
        SAME(has);
    }
}

static void assert_same_blocks(const struct snapshot *a,
                               const struct snapshot *b)
{
    assert_int_equal(a->block_count, b->block_count);
    for (size_t i = 0; i < a->block_count; i++) {
        const struct snapshot_block *x = &a->blocks[i];
        const struct snapshot_block *y = &b->blocks[i];

        SAME(address);
        SAME(size);
        SAME(requested_size);
        SAME(stack);
        SAME(user_metadata);
        SAME(state);
        SAME(has);
    }
}

/* Two snapshots of one allocator, except for the events that the snapshots
 * themselves add. */
static void assert_same_snapshots(const struct snapshot *a,
                                  const struct snapshot *b, size_t events)
{
    assert_same_strings(a, b);
    assert_true(a->event_count >= events && b->event_count >= events);
    assert_same_events(a, b, events);
    assert_same_segments(a, b);
    assert_same_blocks(a, b);
    assert_int_equal(a->frame_count, b->frame_count);
    assert_memory_equal(a->frames, b->frames,
                        a->frame_count * sizeof *a->frames);
    assert_int_equal(a->stack_count, b->stack_count);
}

/* With call paths, marks, a second device's place, and blocks of every kind. */
static void a_pickle_says_what_json_says(void **state)
{
    struct rig rig;
    struct folder f = folder_make();
    larder_history_options opt;
    struct snapshot *made[2];
    larder_addr p[40];

    (void)state;
    larder_history_options_init(&opt);
    opt.max_events = 200;
    opt.stacks = LARDER_STACKS_FRAME_POINTERS;
    /* Two calls write the snapshots: their own stacks would differ. */
    opt.stackless_actions = 1u << LARDER_ACTION_snapshot;
    assert_ok(larder_device_open("sim:1GiB,backing=none,events=manual,count=3",
                                 1, &rig.dev));
    assert_ok(larder_create(rig.dev, NULL, &rig.a));
    assert_ok(larder_history_start(rig.a, &opt));
    for (int i = 0; i < 40; i++) {
        larder_annotate(i % 3 == 0 ? "three" : NULL);
        p[i] = rig_alloc_on(&rig, KIB(i * 100) + 1, (larder_stream)i % 3);
    }
    larder_annotate(NULL);
    assert_ok(larder_history_mark(rig.a, "first"));
    assert_ok(larder_history_mark(rig.a, "second"));
    assert_ok(larder_record_stream(rig.a, p[7], 5));
    for (int i = 0; i < 40; i += 7)
        rig_free(&rig, p[i]);
    made[0] = read_back(&rig, &f, "a.json");
    made[1] = read_back(&rig, &f, "a.pickle");
    assert_true(made[0]->is_json && !made[1]->is_json);
    assert_int_equal(made[0]->device_count, 2);
    assert_int_equal(made[0]->annotation_count, 2);
    assert_in_range(made[0]->event_count, 50, 200);
    assert_in_range(made[0]->stack_count, 3, 200);
    assert_int_equal(made[1]->event_count, made[0]->event_count + 1);
    assert_same_snapshots(made[0], made[1], made[0]->event_count);
    snapshot_free(made[0]);
    snapshot_free(made[1]);
    folder_remove(&f);
    assert_ok(larder_sim_complete(rig.dev, 5));
    rig_down(&rig);
}

static void a_snapshot_may_omit_the_history(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "history:9");
    larder_snapshot_options opt;
    struct bytes b = {0};

    (void)state;
    rig_alloc(&rig, 1000);
    assert_ok(larder_history_mark(rig.a, "here"));
    larder_snapshot_options_init(&opt);
    opt.format = LARDER_SNAPSHOT_JSON;
    opt.no_history = 1;
    assert_ok(larder_snapshot_write_to(rig.a, bytes_add, &b, &opt));
    assert_has(&b, "\"device_traces\":[[]]");
    assert_has(&b, "\"external_annotations\":[]");
    free(b.at);
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    assert_has(&b, "\"external_annotations\":[{\"name\":\"here\","
                   "\"stage\":\"START\",\"device\":0,\"time_us\":");
    free(b.at);
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_segments_blocks_and_events),
        cmocka_unit_test(events_are_in_the_list_of_their_device),
        cmocka_unit_test(without_history_there_are_segments_and_settings),
        cmocka_unit_test(settings_have_every_key),
        cmocka_unit_test(every_statistic_is_there),
        cmocka_unit_test(settings_at_their_defaults_are_left_out),
        cmocka_unit_test(a_reserved_piece_is_written_whole),
        cmocka_unit_test(json_has_events_and_marks_to_the_letter),
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(empty_fields_are_written),
        cmocka_unit_test(a_pickle_holds_numbers_of_64_bits),
        cmocka_unit_test(a_pickle_says_what_json_says),
        cmocka_unit_test(a_snapshot_may_omit_the_history),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
