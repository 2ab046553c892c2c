/* test_abi_0_1_0.c - programs built for Larder 0.1.0 run with this one: its
 * functions, values and structures are here, as they were then.
 *
 * Made by tools/make_abi.py: what does not compile here breaks such programs.
 * Only until that version is released may it be made anew. */
#include <stddef.h>
#include <stdio.h>

#include <larder/account.h>
#include <larder/device.h>
#include <larder/file.h>
#include <larder/hint.h>
#include <larder/history.h>
#include <larder/larder.h>
#include <larder/ledger.h>
#include <larder/migrate.h>
#include <larder/pinned.h>
#include <larder/region.h>
#include <larder/share.h>
#include <larder/sim.h>
#include <larder/tag.h>

#define SAME(condition) _Static_assert(condition, #condition)
#define AT(type, field, offset, bytes)                                         \
    SAME(offsetof(type, field) == (offset));                                   \
    SAME(sizeof(((type *)NULL)->field) == (bytes))

/* ---- types and functions ---- */

typedef uint64_t larder_addr;
typedef uint64_t larder_stream;
typedef struct larder_device larder_device;
typedef struct larder_allocator larder_allocator;
typedef int larder_reclaim_fn(void *ctx);
typedef void larder_oom_fn(void *ctx, const larder_oom_info *info);
typedef int larder_pool_filter(void *ctx, larder_stream stream);
typedef struct larder_checkpoint larder_checkpoint;
typedef int larder_segment_fn(void *ctx, const larder_segment_info *segment);
typedef int larder_block_fn(void *ctx, const larder_segment_info *segment,
                            const larder_block_info *block);
typedef void larder_account_fn(void *ctx, const larder_account_line *line);
typedef void larder_process_fn(void *ctx, const larder_device_process *process);
typedef struct larder_file larder_file;
typedef size_t larder_stack_fn(void *ctx, uint64_t *frames, size_t capacity);
typedef int larder_event_fn(void *ctx, const larder_event *event);
typedef int larder_frame_fn(void *ctx, uint64_t frame, larder_frame *out);
typedef int larder_write_fn(void *ctx, const void *bytes, size_t count);
typedef void larder_ledger_fn(void *ctx, const larder_ledger_device *device,
                              const larder_ledger_process *processes,
                              size_t count);
typedef struct larder_region larder_region;
typedef struct larder_export larder_export;
typedef struct larder_import larder_import;
typedef void larder_sim_kernel(void *ctx);
const char *larder_result_name(larder_result r);
const char *larder_result_text(larder_result r);
const char *larder_last_error(void);
const char *larder_version(void);
larder_result larder_parse_size(const char *text, uint64_t *out);
larder_result larder_device_open(const char *spec, int ordinal,
                                 larder_device **out);
larder_result larder_device_close(larder_device *dev);
larder_result larder_policy_parse(const char *name, larder_policy *out);
const char *larder_policy_name(larder_policy policy);
void larder_options_init_sized(larder_options *opt, size_t size);
larder_result larder_create(larder_device *dev, const larder_options *opt,
                            larder_allocator **out);
larder_result larder_destroy(larder_allocator *a);
larder_result larder_configure(larder_allocator *a, const char *conf);
larder_result larder_conf_check(const char *conf);
const char *larder_conf_key(size_t index);
larder_result larder_conf_segment(const char *conf, uint64_t bytes,
                                  uint64_t *segment_bytes,
                                  uint64_t *page_bytes);
const char *larder_pytorch_release(size_t index);
larder_result larder_pytorch_change(size_t index, size_t number,
                                    const char **words, const char **restored);
larder_result larder_alloc(larder_allocator *a, uint64_t bytes,
                           larder_stream stream, larder_addr *out);
larder_result larder_free(larder_allocator *a, larder_addr addr);
larder_result larder_record_stream(larder_allocator *a, larder_addr addr,
                                   larder_stream stream);
larder_result larder_empty_cache(larder_allocator *a);
larder_result larder_trim(larder_allocator *a, uint64_t target_bytes,
                          uint64_t *released);
larder_result larder_reserve(larder_allocator *a, uint64_t bytes);
larder_result larder_set_memory_fraction(larder_allocator *a, double fraction);
larder_result larder_memory_fraction(larder_allocator *a, double *out);
larder_result larder_largest_cached(larder_allocator *a, uint64_t *out);
larder_result larder_base_allocation(larder_allocator *a, larder_addr addr,
                                     larder_addr *base, uint64_t *bytes);
larder_result larder_add_reclaim(larder_allocator *a, larder_reclaim_fn *fn,
                                 void *ctx);
larder_result larder_add_oom_observer(larder_allocator *a, larder_oom_fn *fn,
                                      void *ctx);
larder_result larder_pool_begin(larder_allocator *a, larder_pool_id id,
                                larder_pool_filter *filter, void *ctx);
larder_result larder_pool_end(larder_allocator *a, larder_pool_id id);
larder_result larder_pool_release(larder_allocator *a, larder_pool_id id);
larder_result larder_pool_set_limit(larder_allocator *a, larder_pool_id id,
                                    uint64_t bytes);
larder_result larder_pool_set_lending(larder_allocator *a, larder_pool_id id,
                                      int on);
larder_result larder_pool_lend(larder_allocator *a, larder_pool_id id,
                               larder_stream stream);
larder_result larder_pool_recall(larder_allocator *a, larder_pool_id id);
larder_result larder_pool_set_whole(larder_allocator *a, larder_pool_id id,
                                    int on);
larder_result larder_capture_begin(larder_allocator *a);
larder_result larder_capture_end(larder_allocator *a);
void larder_pool_info_init_sized(larder_pool_info *info, size_t size);
larder_result larder_pool_info_get(larder_allocator *a, larder_pool_id id,
                                   larder_pool_info *info);
larder_result larder_checkpoint_take(larder_allocator *a, larder_pool_id id,
                                     larder_checkpoint **out);
larder_result larder_checkpoint_restore(
    larder_allocator *a, const larder_checkpoint *cp, larder_addr *freed,
    size_t freed_capacity, size_t *freed_count, larder_addr *created,
    size_t created_capacity, size_t *created_count);
void larder_checkpoint_destroy(larder_checkpoint *cp);
larder_result larder_pool_live_is(larder_allocator *a, larder_pool_id id,
                                  const larder_addr *addrs, size_t count,
                                  int *same);
void larder_stats_init_sized(larder_stats *st, size_t size);
larder_result larder_stats_get(larder_allocator *a, larder_stats *st);
larder_result larder_stats_reset_peak(larder_allocator *a);
larder_result larder_stats_reset_accumulated(larder_allocator *a);
larder_result larder_memory_summary(larder_allocator *a, int abbreviated,
                                    char *out, size_t capacity, size_t *needed);
larder_result larder_walk(larder_allocator *a, larder_segment_fn *segment_fn,
                          larder_block_fn *block_fn, void *ctx);
larder_result larder_check(larder_allocator *a);
const char *larder_owner_name(larder_owner_kind kind);
larder_result larder_account(larder_allocator *a, larder_account_fn *fn,
                             void *ctx);
larder_result larder_cache_set_minimum(larder_allocator *a, uint64_t bytes);
larder_result larder_pool_set_minimum(larder_allocator *a, larder_pool_id id,
                                      uint64_t bytes);
larder_result larder_tag_set_minimum(larder_allocator *a, const char *tag,
                                     uint64_t bytes);
larder_result larder_cache_set_limit(larder_allocator *a, uint64_t bytes);
const char *larder_call_name(larder_call call);
larder_result larder_device_create(const larder_device_ops *ops, void *self,
                                   larder_device **out);
larder_result larder_device_get_props(larder_device *dev,
                                      larder_device_props *out);
const char *larder_device_name(larder_device *dev);
larder_result larder_device_mem_info(larder_device *dev, uint64_t *free_bytes,
                                     uint64_t *total_bytes);
larder_result larder_device_copy(larder_device *dev, uint64_t dst, uint64_t src,
                                 uint64_t bytes, larder_copy_kind kind,
                                 larder_stream stream);
larder_result larder_device_fill(larder_device *dev, larder_addr dst,
                                 unsigned char value, uint64_t bytes,
                                 larder_stream stream);
larder_result larder_device_stream_sync(larder_device *dev,
                                        larder_stream stream);
larder_result larder_device_stream_is_capturing(larder_device *dev,
                                                larder_stream stream, int *out);
larder_result larder_device_event_create(larder_device *dev, uint64_t *out);
larder_result larder_device_event_destroy(larder_device *dev, uint64_t event);
larder_result larder_device_event_record(larder_device *dev, uint64_t event,
                                         larder_stream stream);
larder_result larder_device_event_query(larder_device *dev, uint64_t event);
larder_result larder_device_event_sync(larder_device *dev, uint64_t event);
larder_result larder_device_host_alloc(larder_device *dev, uint64_t bytes,
                                       void **out);
larder_result larder_device_host_free(larder_device *dev, void *ptr);
void larder_prices_init_sized(larder_prices *p, size_t size);
larder_result larder_prices_read(const char *path, larder_prices *out);
larder_result larder_device_set_prices(larder_device *dev,
                                       const larder_prices *p);
larder_result larder_device_get_counters(larder_device *dev,
                                         larder_device_counters *out);
larder_result larder_device_reset_counters(larder_device *dev);
larder_result larder_device_fail(larder_device *dev, larder_call call,
                                 uint64_t nth, uint64_t times,
                                 larder_result with);
larder_result larder_file_create(const char *path, larder_file **out);
larder_result larder_file_write(larder_file *f, const void *bytes,
                                size_t count);
int larder_file_descriptor(const larder_file *f);
larder_result larder_file_close(larder_file *f, int keep);
void larder_files_abandon(void);
larder_result larder_alloc_hinted(larder_allocator *a, uint64_t bytes,
                                  larder_stream stream, larder_hint hint,
                                  larder_addr *out);
const char *larder_action_name(larder_action action);
void larder_history_options_init_sized(larder_history_options *opt,
                                       size_t size);
larder_result larder_history_start(larder_allocator *a,
                                   const larder_history_options *opt);
larder_result larder_history_stop(larder_allocator *a);
larder_result larder_history_clear(larder_allocator *a);
larder_result larder_history_get(larder_allocator *a,
                                 larder_history_info *info);
larder_result larder_history_walk(larder_allocator *a, larder_event_fn *fn,
                                  void *ctx);
void larder_annotate(const char *text);
void larder_annotate_push(const char *text);
void larder_annotate_pop(void);
larder_result larder_history_mark(larder_allocator *a, const char *text);
larder_result larder_set_frame_resolver(larder_allocator *a,
                                        larder_frame_fn *fn, void *ctx);
void larder_snapshot_options_init_sized(larder_snapshot_options *opt,
                                        size_t size);
larder_result larder_snapshot_write(larder_allocator *a, const char *path,
                                    const larder_snapshot_options *opt);
larder_result larder_snapshot_write_to(larder_allocator *a, larder_write_fn *fn,
                                       void *ctx,
                                       const larder_snapshot_options *opt);
larder_result larder_ledger_each(larder_ledger_fn *fn, void *ctx);
larder_result larder_ledger_trim(const char *id, int64_t pid, uint64_t bytes);
larder_result larder_ledger_limit(const char *id, int64_t pid, uint64_t bytes);
larder_result larder_migrate_begin(larder_allocator *a);
larder_result larder_migrate_end(larder_allocator *a);
larder_result larder_pinned_create(larder_device *dev,
                                   const larder_options *opt,
                                   larder_allocator **out);
larder_result larder_pinned_alloc(larder_allocator *pinned, uint64_t bytes,
                                  void **out);
larder_result larder_pinned_free(larder_allocator *pinned, void *ptr);
larder_result larder_pinned_record_stream(larder_allocator *pinned, void *ptr,
                                          larder_stream stream);
void larder_pinned_stats_init_sized(larder_pinned_stats *st, size_t size);
larder_result larder_pinned_stats_get(larder_allocator *pinned,
                                      larder_pinned_stats *st);
larder_result larder_tag_begin(larder_allocator *a, const char *tag);
larder_result larder_tag_end(larder_allocator *a);
larder_result larder_tag_stats(larder_allocator *a, const char *tag,
                               larder_tag_usage *out);
larder_result larder_tag_limit(larder_allocator *a, const char *tag,
                               uint64_t bytes);
larder_result larder_pause(larder_allocator *a, const char *tag,
                           larder_pause_mode mode);
larder_result larder_resume(larder_allocator *a, const char *tag);
void larder_region_options_init_sized(larder_region_options *opt, size_t size);
larder_result larder_region_create(larder_allocator *a, uint64_t bytes,
                                   const larder_region_options *opt,
                                   larder_region **out);
larder_result larder_region_destroy(larder_region *region);
larder_result larder_region_commit(larder_region *region, uint64_t offset,
                                   uint64_t bytes);
larder_result larder_region_decommit(larder_region *region, uint64_t offset,
                                     uint64_t bytes);
larder_result larder_region_record_stream(larder_region *region,
                                          uint64_t offset, uint64_t bytes,
                                          larder_stream stream);
larder_result larder_region_at_hand(larder_region *region, uint64_t offset,
                                    uint64_t bytes, uint64_t *out);
larder_result larder_region_trim(larder_region *region, uint64_t *released);
larder_result larder_region_set_minimum(larder_region *region, uint64_t bytes);
larder_result larder_region_set_limit(larder_region *region, uint64_t bytes);
larder_result larder_region_pause(larder_region *region,
                                  larder_pause_mode mode);
larder_result larder_region_resume(larder_region *region);
larder_result larder_region_get_info(larder_region *region,
                                     larder_region_info *out);
larder_result larder_export_open(larder_allocator *a, larder_addr addr,
                                 larder_export **out);
larder_result larder_export_send(larder_export *e, int socket);
larder_result larder_export_close(larder_export *e);
larder_result larder_import_receive(larder_device *dev, int socket,
                                    larder_import **out);
larder_result larder_import_get(const larder_import *m,
                                larder_import_info *out);
larder_result larder_import_close(larder_import *m);
larder_result larder_sim_complete(larder_device *dev, larder_stream stream);
larder_result larder_sim_launch(larder_device *dev, larder_stream stream,
                                larder_sim_kernel *fn, void *ctx);
larder_result larder_sim_wait_event(larder_device *dev, larder_stream stream,
                                    uint64_t event);
larder_result larder_sim_capture_begin(larder_device *dev,
                                       larder_stream stream);
larder_result larder_sim_capture_end(larder_device *dev, larder_stream stream);
larder_result larder_sim_regions(larder_device *dev, larder_addr *first,
                                 larder_addr *second);
larder_result larder_sim_get_usage(larder_device *dev, larder_sim_usage *out);
const char *larder_sim_card(size_t index);

/* ---- values and structures ---- */

SAME(LARDER_OK == 0);
SAME(LARDER_ERR_INVALID == 1);
SAME(LARDER_ERR_OUT_OF_MEMORY == 2);
SAME(LARDER_ERR_NO_HOST_MEMORY == 3);
SAME(LARDER_ERR_DEVICE == 4);
SAME(LARDER_ERR_UNKNOWN_ADDRESS == 5);
SAME(LARDER_ERR_DOUBLE_FREE == 6);
SAME(LARDER_ERR_UNKNOWN_POOL == 7);
SAME(LARDER_ERR_UNKNOWN_STREAM == 8);
SAME(LARDER_ERR_CONF == 9);
SAME(LARDER_ERR_UNSUPPORTED == 10);
SAME(LARDER_ERR_CAPTURING == 11);
SAME(LARDER_ERR_NOT_READY == 12);
SAME(LARDER_ERR_DESTROYED == 13);
SAME(LARDER_ERR_CORRUPT == 14);
SAME(LARDER_ERR_BUSY == 15);
SAME(LARDER_ERR_SYSTEM == 16);
SAME(LARDER_ERR_PAUSED == 17);
SAME(LARDER_ERR_FORKED == 18);
SAME(LARDER_ERR_OVERWRITTEN == 19);
SAME(LARDER_ERR_LEAKED == 20);
SAME(LARDER_ERR_UNRECORDED == 21);
SAME(LARDER_POLICY_DEFAULT == 0);
SAME(LARDER_POLICY_PYTORCH == 1);
SAME(LARDER_POLICY_DIRECT == 2);
SAME(LARDER_POLICY_LARDER == 3);
SAME(LARDER_BLOCK_FREE == 0);
SAME(LARDER_BLOCK_ALLOCATED == 1);
SAME(LARDER_BLOCK_PENDING == 2);
SAME(LARDER_OWNER_CACHE == 0);
SAME(LARDER_OWNER_POOL == 1);
SAME(LARDER_OWNER_TAG == 2);
SAME(LARDER_OWNER_REGION == 3);
SAME(LARDER_OWNER_REFUSED == 4);
SAME(LARDER_OWNER_ALLOCATORS == 5);
SAME(LARDER_OWNER_CONTEXT == 6);
SAME(LARDER_OWNER_OTHERS == 7);
SAME(LARDER_OWNER_FREE == 8);
SAME(LARDER_OWNER_PINNED == 9);
SAME(LARDER_CALL_mem_alloc == 0);
SAME(LARDER_CALL_mem_free == 1);
SAME(LARDER_CALL_mem_info == 2);
SAME(LARDER_CALL_address_reserve == 3);
SAME(LARDER_CALL_address_free == 4);
SAME(LARDER_CALL_page_create == 5);
SAME(LARDER_CALL_page_release == 6);
SAME(LARDER_CALL_map == 7);
SAME(LARDER_CALL_unmap == 8);
SAME(LARDER_CALL_set_access == 9);
SAME(LARDER_CALL_event_create == 10);
SAME(LARDER_CALL_event_destroy == 11);
SAME(LARDER_CALL_event_record == 12);
SAME(LARDER_CALL_event_query == 13);
SAME(LARDER_CALL_event_sync == 14);
SAME(LARDER_CALL_stream_sync == 15);
SAME(LARDER_CALL_copy == 16);
SAME(LARDER_CALL_fill == 17);
SAME(LARDER_CALL_host_alloc == 18);
SAME(LARDER_CALL_host_free == 19);
SAME(LARDER_CALL_page_export == 20);
SAME(LARDER_CALL_page_import == 21);
SAME(LARDER_CALL_COUNT == 22);
SAME(LARDER_HANDLE_NONE == 0);
SAME(LARDER_HANDLE_FD == 1);
SAME(LARDER_HANDLE_FABRIC == 2);
SAME(LARDER_FABRIC_BYTES == 64);
SAME(LARDER_UUID_BYTES == 16);
SAME(LARDER_COPY_TO_DEVICE == 0);
SAME(LARDER_COPY_TO_HOST == 1);
SAME(LARDER_COPY_ON_DEVICE == 2);
SAME(LARDER_HINT_NONE == 0);
SAME(LARDER_HINT_LONG == 1);
SAME(LARDER_HINT_SHORT == 2);
SAME(LARDER_ACTION_alloc == 0);
SAME(LARDER_ACTION_free_requested == 1);
SAME(LARDER_ACTION_free_completed == 2);
SAME(LARDER_ACTION_segment_alloc == 3);
SAME(LARDER_ACTION_segment_free == 4);
SAME(LARDER_ACTION_segment_map == 5);
SAME(LARDER_ACTION_segment_unmap == 6);
SAME(LARDER_ACTION_snapshot == 7);
SAME(LARDER_ACTION_oom == 8);
SAME(LARDER_STACKS_OFF == 0);
SAME(LARDER_STACKS_FRAME_POINTERS == 1);
SAME(LARDER_STACKS_UNWIND == 2);
SAME(LARDER_STACKS_CALLBACK == 3);
SAME(LARDER_HISTORY_EVENTS_DEFAULT == 1048576);
SAME(LARDER_STACK_DEPTH_DEFAULT == 32);
SAME(LARDER_STACK_DEPTH_MAX == 128);
SAME(LARDER_STACK_BYTES_DEFAULT == 16777216);
SAME(LARDER_ANNOTATION_MAX == 127);
SAME(LARDER_ANNOTATION_DEPTH == 16);
SAME(LARDER_SNAPSHOT_AUTO == 0);
SAME(LARDER_SNAPSHOT_PICKLE == 1);
SAME(LARDER_SNAPSHOT_JSON == 2);
SAME(LARDER_LEDGER_ID_BYTES == 96);
SAME(LARDER_LEDGER_NAME_BYTES == 32);
SAME(LARDER_TAG_MAX == 63);
SAME(LARDER_PAUSE_KEEP == 1);
SAME(LARDER_PAUSE_DROP == 2);
SAME(LARDER_REGION_PAGE == 2097152);
SAME(LARDER_REGION_NAME_MAX == 63);

SAME(sizeof(larder_options) >= 24);
AT(larder_options, size, 0, 8);
AT(larder_options, policy, 8, 4);
AT(larder_options, flags, 12, 4);
AT(larder_options, conf, 16, 8);

SAME(sizeof(larder_oom_info) == 48);
AT(larder_oom_info, requested_bytes, 0, 8);
AT(larder_oom_info, segment_bytes, 8, 8);
AT(larder_oom_info, stream, 16, 8);
AT(larder_oom_info, device_total_bytes, 24, 8);
AT(larder_oom_info, device_free_bytes, 32, 8);
AT(larder_oom_info, message, 40, 8);

SAME(sizeof(larder_pool_id) == 16);
AT(larder_pool_id, first, 0, 8);
AT(larder_pool_id, second, 8, 8);

SAME(sizeof(larder_pool_info) >= 72);
AT(larder_pool_info, size, 0, 8);
AT(larder_pool_info, limit_bytes, 8, 8);
AT(larder_pool_info, reserved_bytes, 16, 8);
AT(larder_pool_info, allocated_bytes, 24, 8);
AT(larder_pool_info, active_bytes, 32, 8);
AT(larder_pool_info, requested_bytes, 40, 8);
AT(larder_pool_info, segments, 48, 8);
AT(larder_pool_info, allocations, 56, 8);
AT(larder_pool_info, users, 64, 4);
AT(larder_pool_info, is_begun, 68, 4);

SAME(sizeof(larder_stat) == 32);
AT(larder_stat, current, 0, 8);
AT(larder_stat, peak, 8, 8);
AT(larder_stat, allocated, 16, 8);
AT(larder_stat, freed, 24, 8);

SAME(sizeof(larder_stat_split) == 96);
AT(larder_stat_split, all, 0, 32);
AT(larder_stat_split, small_pool, 32, 32);
AT(larder_stat_split, large_pool, 64, 32);

SAME(sizeof(larder_stats) >= 1008);
AT(larder_stats, size, 0, 8);
AT(larder_stats, allocation, 8, 96);
AT(larder_stats, segment, 104, 96);
AT(larder_stats, active, 200, 96);
AT(larder_stats, inactive_split, 296, 96);
AT(larder_stats, allocated_bytes, 392, 96);
AT(larder_stats, reserved_bytes, 488, 96);
AT(larder_stats, active_bytes, 584, 96);
AT(larder_stats, inactive_split_bytes, 680, 96);
AT(larder_stats, requested_bytes, 776, 96);
AT(larder_stats, oversize_allocations, 872, 32);
AT(larder_stats, oversize_segments, 904, 32);
AT(larder_stats, num_alloc_retries, 936, 8);
AT(larder_stats, num_ooms, 944, 8);
AT(larder_stats, num_sync_all_streams, 952, 8);
AT(larder_stats, num_device_alloc, 960, 8);
AT(larder_stats, num_device_free, 968, 8);
AT(larder_stats, num_oom_rejections, 976, 8);
AT(larder_stats, max_split_size, 984, 8);
AT(larder_stats, num_trims, 992, 8);
AT(larder_stats, trimmed_bytes, 1000, 8);

SAME(sizeof(larder_segment_info) == 96);
AT(larder_segment_info, addr, 0, 8);
AT(larder_segment_info, bytes, 8, 8);
AT(larder_segment_info, allocated_bytes, 16, 8);
AT(larder_segment_info, active_bytes, 24, 8);
AT(larder_segment_info, requested_bytes, 32, 8);
AT(larder_segment_info, stream, 40, 8);
AT(larder_segment_info, pool, 48, 16);
AT(larder_segment_info, is_large, 64, 4);
AT(larder_segment_info, is_expandable, 68, 4);
AT(larder_segment_info, is_reserved, 72, 4);
AT(larder_segment_info, block_count, 80, 8);
AT(larder_segment_info, is_paused, 88, 4);

SAME(sizeof(larder_block_info) == 32);
AT(larder_block_info, addr, 0, 8);
AT(larder_block_info, bytes, 8, 8);
AT(larder_block_info, requested_bytes, 16, 8);
AT(larder_block_info, state, 24, 4);

SAME(sizeof(larder_account_line) >= 88);
AT(larder_account_line, size, 0, 8);
AT(larder_account_line, kind, 8, 4);
AT(larder_account_line, pool, 16, 16);
AT(larder_account_line, name, 32, 8);
AT(larder_account_line, held_bytes, 40, 8);
AT(larder_account_line, used_bytes, 48, 8);
AT(larder_account_line, asleep_bytes, 56, 8);
AT(larder_account_line, minimum_bytes, 64, 8);
AT(larder_account_line, limit_bytes, 72, 8);
AT(larder_account_line, available_bytes, 80, 8);

SAME(sizeof(larder_page_handle) == 72);
AT(larder_page_handle, kind, 0, 4);
AT(larder_page_handle, fd, 4, 4);
AT(larder_page_handle, fabric, 8, 64);

SAME(sizeof(larder_device_props) >= 128);
AT(larder_device_props, size, 0, 8);
AT(larder_device_props, total_bytes, 8, 8);
AT(larder_device_props, granularity_bytes, 16, 8);
AT(larder_device_props, context_bytes, 24, 8);
AT(larder_device_props, ordinal, 32, 4);
AT(larder_device_props, name, 36, 64);
AT(larder_device_props, is_integrated, 100, 4);
AT(larder_device_props, export_kind, 104, 4);
AT(larder_device_props, uuid, 108, 16);
AT(larder_device_props, is_exclusive, 124, 4);

SAME(sizeof(larder_device_process) == 24);
AT(larder_device_process, pid, 0, 8);
AT(larder_device_process, bytes, 8, 8);
AT(larder_device_process, is_self, 16, 4);

SAME(sizeof(larder_device_ops) >= 248);
AT(larder_device_ops, size, 0, 8);
AT(larder_device_ops, name, 8, 8);
AT(larder_device_ops, close, 16, 8);
AT(larder_device_ops, props, 24, 8);
AT(larder_device_ops, mem_alloc, 32, 8);
AT(larder_device_ops, mem_free, 40, 8);
AT(larder_device_ops, mem_info, 48, 8);
AT(larder_device_ops, address_reserve, 56, 8);
AT(larder_device_ops, address_free, 64, 8);
AT(larder_device_ops, page_create, 72, 8);
AT(larder_device_ops, page_release, 80, 8);
AT(larder_device_ops, map, 88, 8);
AT(larder_device_ops, unmap, 96, 8);
AT(larder_device_ops, set_access, 104, 8);
AT(larder_device_ops, event_create, 112, 8);
AT(larder_device_ops, event_destroy, 120, 8);
AT(larder_device_ops, event_record, 128, 8);
AT(larder_device_ops, event_query, 136, 8);
AT(larder_device_ops, event_sync, 144, 8);
AT(larder_device_ops, stream_sync, 152, 8);
AT(larder_device_ops, stream_check, 160, 8);
AT(larder_device_ops, stream_is_capturing, 168, 8);
AT(larder_device_ops, copy, 176, 8);
AT(larder_device_ops, fill, 184, 8);
AT(larder_device_ops, host_alloc, 192, 8);
AT(larder_device_ops, host_free, 200, 8);
AT(larder_device_ops, processes, 208, 8);
AT(larder_device_ops, error_text, 216, 8);
AT(larder_device_ops, page_export, 224, 8);
AT(larder_device_ops, page_import, 232, 8);
AT(larder_device_ops, unordered_use, 240, 8);

SAME(sizeof(larder_prices) >= 136);
AT(larder_prices, size, 0, 8);
AT(larder_prices, mem_alloc, 8, 8);
AT(larder_prices, mem_alloc_per_mib, 16, 8);
AT(larder_prices, mem_free, 24, 8);
AT(larder_prices, address_reserve, 32, 8);
AT(larder_prices, page_create, 40, 8);
AT(larder_prices, page_create_per_mib, 48, 8);
AT(larder_prices, page_release, 56, 8);
AT(larder_prices, map, 64, 8);
AT(larder_prices, set_access, 72, 8);
AT(larder_prices, unmap, 80, 8);
AT(larder_prices, wait, 88, 8);
AT(larder_prices, event_record, 96, 8);
AT(larder_prices, event_query, 104, 8);
AT(larder_prices, copy, 112, 8);
AT(larder_prices, copy_per_mib, 120, 8);
AT(larder_prices, copy_host_per_mib, 128, 8);

SAME(sizeof(larder_device_counters) >= 384);
AT(larder_device_counters, size, 0, 8);
AT(larder_device_counters, calls, 8, 176);
AT(larder_device_counters, failed, 184, 176);
AT(larder_device_counters, pages_mapped, 360, 8);
AT(larder_device_counters, pages_unmapped, 368, 8);
AT(larder_device_counters, time_ns, 376, 8);

SAME(sizeof(larder_history_options) >= 56);
AT(larder_history_options, size, 0, 8);
AT(larder_history_options, max_events, 8, 8);
AT(larder_history_options, stacks, 16, 4);
AT(larder_history_options, depth, 20, 4);
AT(larder_history_options, skip_actions, 24, 4);
AT(larder_history_options, stackless_actions, 28, 4);
AT(larder_history_options, stack_bytes, 32, 8);
AT(larder_history_options, stack_fn, 40, 8);
AT(larder_history_options, stack_ctx, 48, 8);

SAME(sizeof(larder_history_info) >= 80);
AT(larder_history_info, size, 0, 8);
AT(larder_history_info, is_on, 8, 4);
AT(larder_history_info, max_events, 16, 8);
AT(larder_history_info, events, 24, 8);
AT(larder_history_info, lost_events, 32, 8);
AT(larder_history_info, stack_count, 40, 8);
AT(larder_history_info, lost_stacks, 48, 8);
AT(larder_history_info, lost_notes, 56, 8);
AT(larder_history_info, dumps, 64, 8);
AT(larder_history_info, failed_dumps, 72, 8);

SAME(sizeof(larder_event) == 88);
AT(larder_event, action, 0, 4);
AT(larder_event, addr, 8, 8);
AT(larder_event, bytes, 16, 8);
AT(larder_event, device_free_bytes, 24, 8);
AT(larder_event, stream, 32, 8);
AT(larder_event, pool, 40, 16);
AT(larder_event, time_us, 56, 8);
AT(larder_event, annotation, 64, 8);
AT(larder_event, stack, 72, 8);
AT(larder_event, depth, 80, 8);

SAME(sizeof(larder_frame) == 516);
AT(larder_frame, filename, 0, 256);
AT(larder_frame, name, 256, 256);
AT(larder_frame, line, 512, 4);

SAME(sizeof(larder_snapshot_options) >= 16);
AT(larder_snapshot_options, size, 0, 8);
AT(larder_snapshot_options, format, 8, 4);
AT(larder_snapshot_options, no_history, 12, 4);

SAME(sizeof(larder_ledger_device) >= 216);
AT(larder_ledger_device, size, 0, 8);
AT(larder_ledger_device, id, 8, 96);
AT(larder_ledger_device, name, 104, 64);
AT(larder_ledger_device, uuid, 168, 16);
AT(larder_ledger_device, total_bytes, 184, 8);
AT(larder_ledger_device, others_bytes, 192, 8);
AT(larder_ledger_device, group, 200, 8);
AT(larder_ledger_device, is_simulated, 208, 4);

SAME(sizeof(larder_ledger_process) >= 104);
AT(larder_ledger_process, size, 0, 8);
AT(larder_ledger_process, pid, 8, 8);
AT(larder_ledger_process, name, 16, 32);
AT(larder_ledger_process, context_bytes, 48, 8);
AT(larder_ledger_process, reserved_bytes, 56, 8);
AT(larder_ledger_process, in_use_bytes, 64, 8);
AT(larder_ledger_process, minimum_bytes, 72, 8);
AT(larder_ledger_process, limit_bytes, 80, 8);
AT(larder_ledger_process, group_limit_bytes, 88, 8);
AT(larder_ledger_process, is_own, 96, 4);
AT(larder_ledger_process, is_self, 100, 4);

SAME(sizeof(larder_pinned_duration) == 40);
AT(larder_pinned_duration, total_us, 0, 8);
AT(larder_pinned_duration, max_us, 8, 8);
AT(larder_pinned_duration, min_us, 16, 8);
AT(larder_pinned_duration, count, 24, 8);
AT(larder_pinned_duration, avg_us, 32, 8);

SAME(sizeof(larder_pinned_stats) >= 232);
AT(larder_pinned_stats, size, 0, 8);
AT(larder_pinned_stats, allocations, 8, 32);
AT(larder_pinned_stats, allocated_bytes, 40, 32);
AT(larder_pinned_stats, active_requests, 72, 32);
AT(larder_pinned_stats, active_bytes, 104, 32);
AT(larder_pinned_stats, num_host_alloc, 136, 8);
AT(larder_pinned_stats, num_host_free, 144, 8);
AT(larder_pinned_stats, host_alloc_time, 152, 40);
AT(larder_pinned_stats, host_free_time, 192, 40);

SAME(sizeof(larder_tag_usage) >= 96);
AT(larder_tag_usage, size, 0, 8);
AT(larder_tag_usage, allocation_count, 8, 8);
AT(larder_tag_usage, allocated_bytes, 16, 8);
AT(larder_tag_usage, peak_allocated_bytes, 24, 8);
AT(larder_tag_usage, requested_bytes, 32, 8);
AT(larder_tag_usage, reserved_bytes, 40, 8);
AT(larder_tag_usage, peak_reserved_bytes, 48, 8);
AT(larder_tag_usage, limit_bytes, 56, 8);
AT(larder_tag_usage, refused_count, 64, 8);
AT(larder_tag_usage, is_paused, 72, 4);
AT(larder_tag_usage, paused_bytes, 80, 8);
AT(larder_tag_usage, kept_bytes, 88, 8);

SAME(sizeof(larder_region_options) >= 48);
AT(larder_region_options, size, 0, 8);
AT(larder_region_options, name, 8, 8);
AT(larder_region_options, stream, 16, 8);
AT(larder_region_options, handle_bytes, 24, 8);
AT(larder_region_options, minimum_bytes, 32, 8);
AT(larder_region_options, limit_bytes, 40, 8);

SAME(sizeof(larder_region_info) >= 88);
AT(larder_region_info, size, 0, 8);
AT(larder_region_info, addr, 8, 8);
AT(larder_region_info, bytes, 16, 8);
AT(larder_region_info, committed_bytes, 24, 8);
AT(larder_region_info, pending_bytes, 32, 8);
AT(larder_region_info, idle_bytes, 40, 8);
AT(larder_region_info, held_bytes, 48, 8);
AT(larder_region_info, minimum_bytes, 56, 8);
AT(larder_region_info, limit_bytes, 64, 8);
AT(larder_region_info, is_paused, 72, 4);
AT(larder_region_info, kept_bytes, 80, 8);

SAME(sizeof(larder_import_info) >= 32);
AT(larder_import_info, size, 0, 8);
AT(larder_import_info, addr, 8, 8);
AT(larder_import_info, bytes, 16, 8);
AT(larder_import_info, mapped_bytes, 24, 8);

SAME(sizeof(larder_sim_usage) >= 80);
AT(larder_sim_usage, size, 0, 8);
AT(larder_sim_usage, capacity_bytes, 8, 8);
AT(larder_sim_usage, used_bytes, 16, 8);
AT(larder_sim_usage, self_bytes, 24, 8);
AT(larder_sim_usage, context_bytes, 32, 8);
AT(larder_sim_usage, allocations, 40, 8);
AT(larder_sim_usage, pages, 48, 8);
AT(larder_sim_usage, mappings, 56, 8);
AT(larder_sim_usage, reservations, 64, 8);
AT(larder_sim_usage, events, 72, 8);

typedef void function(void);

/* Volatile, so that each is asked of the linker. */
static function *const volatile functions[] = {
    (function *)larder_result_name,
    (function *)larder_result_text,
    (function *)larder_last_error,
    (function *)larder_version,
    (function *)larder_parse_size,
    (function *)larder_device_open,
    (function *)larder_device_close,
    (function *)larder_policy_parse,
    (function *)larder_policy_name,
    (function *)larder_options_init_sized,
    (function *)larder_create,
    (function *)larder_destroy,
    (function *)larder_configure,
    (function *)larder_conf_check,
    (function *)larder_conf_key,
    (function *)larder_conf_segment,
    (function *)larder_pytorch_release,
    (function *)larder_pytorch_change,
    (function *)larder_alloc,
    (function *)larder_free,
    (function *)larder_record_stream,
    (function *)larder_empty_cache,
    (function *)larder_trim,
    (function *)larder_reserve,
    (function *)larder_set_memory_fraction,
    (function *)larder_memory_fraction,
    (function *)larder_largest_cached,
    (function *)larder_base_allocation,
    (function *)larder_add_reclaim,
    (function *)larder_add_oom_observer,
    (function *)larder_pool_begin,
    (function *)larder_pool_end,
    (function *)larder_pool_release,
    (function *)larder_pool_set_limit,
    (function *)larder_pool_set_lending,
    (function *)larder_pool_lend,
    (function *)larder_pool_recall,
    (function *)larder_pool_set_whole,
    (function *)larder_capture_begin,
    (function *)larder_capture_end,
    (function *)larder_pool_info_init_sized,
    (function *)larder_pool_info_get,
    (function *)larder_checkpoint_take,
    (function *)larder_checkpoint_restore,
    (function *)larder_checkpoint_destroy,
    (function *)larder_pool_live_is,
    (function *)larder_stats_init_sized,
    (function *)larder_stats_get,
    (function *)larder_stats_reset_peak,
    (function *)larder_stats_reset_accumulated,
    (function *)larder_memory_summary,
    (function *)larder_walk,
    (function *)larder_check,
    (function *)larder_owner_name,
    (function *)larder_account,
    (function *)larder_cache_set_minimum,
    (function *)larder_pool_set_minimum,
    (function *)larder_tag_set_minimum,
    (function *)larder_cache_set_limit,
    (function *)larder_call_name,
    (function *)larder_device_create,
    (function *)larder_device_get_props,
    (function *)larder_device_name,
    (function *)larder_device_mem_info,
    (function *)larder_device_copy,
    (function *)larder_device_fill,
    (function *)larder_device_stream_sync,
    (function *)larder_device_stream_is_capturing,
    (function *)larder_device_event_create,
    (function *)larder_device_event_destroy,
    (function *)larder_device_event_record,
    (function *)larder_device_event_query,
    (function *)larder_device_event_sync,
    (function *)larder_device_host_alloc,
    (function *)larder_device_host_free,
    (function *)larder_prices_init_sized,
    (function *)larder_prices_read,
    (function *)larder_device_set_prices,
    (function *)larder_device_get_counters,
    (function *)larder_device_reset_counters,
    (function *)larder_device_fail,
    (function *)larder_file_create,
    (function *)larder_file_write,
    (function *)larder_file_descriptor,
    (function *)larder_file_close,
    (function *)larder_files_abandon,
    (function *)larder_alloc_hinted,
    (function *)larder_action_name,
    (function *)larder_history_options_init_sized,
    (function *)larder_history_start,
    (function *)larder_history_stop,
    (function *)larder_history_clear,
    (function *)larder_history_get,
    (function *)larder_history_walk,
    (function *)larder_annotate,
    (function *)larder_annotate_push,
    (function *)larder_annotate_pop,
    (function *)larder_history_mark,
    (function *)larder_set_frame_resolver,
    (function *)larder_snapshot_options_init_sized,
    (function *)larder_snapshot_write,
    (function *)larder_snapshot_write_to,
    (function *)larder_ledger_each,
    (function *)larder_ledger_trim,
    (function *)larder_ledger_limit,
    (function *)larder_migrate_begin,
    (function *)larder_migrate_end,
    (function *)larder_pinned_create,
    (function *)larder_pinned_alloc,
    (function *)larder_pinned_free,
    (function *)larder_pinned_record_stream,
    (function *)larder_pinned_stats_init_sized,
    (function *)larder_pinned_stats_get,
    (function *)larder_tag_begin,
    (function *)larder_tag_end,
    (function *)larder_tag_stats,
    (function *)larder_tag_limit,
    (function *)larder_pause,
    (function *)larder_resume,
    (function *)larder_region_options_init_sized,
    (function *)larder_region_create,
    (function *)larder_region_destroy,
    (function *)larder_region_commit,
    (function *)larder_region_decommit,
    (function *)larder_region_record_stream,
    (function *)larder_region_at_hand,
    (function *)larder_region_trim,
    (function *)larder_region_set_minimum,
    (function *)larder_region_set_limit,
    (function *)larder_region_pause,
    (function *)larder_region_resume,
    (function *)larder_region_get_info,
    (function *)larder_export_open,
    (function *)larder_export_send,
    (function *)larder_export_close,
    (function *)larder_import_receive,
    (function *)larder_import_get,
    (function *)larder_import_close,
    (function *)larder_sim_complete,
    (function *)larder_sim_launch,
    (function *)larder_sim_wait_event,
    (function *)larder_sim_capture_begin,
    (function *)larder_sim_capture_end,
    (function *)larder_sim_regions,
    (function *)larder_sim_get_usage,
    (function *)larder_sim_card,
};

int main(void)
{
    size_t count = sizeof functions / sizeof functions[0];

    for (size_t i = 0; i < count; i++) {
        if (functions[i] == NULL)
            return 1;
    }
    printf("%zu functions\n", count);
    return 0;
}
