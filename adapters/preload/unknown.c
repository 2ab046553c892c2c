/* unknown.c - driver calls that this library does not know: they may queue
 * work, or share memory, so that moving ends when one is called.
 *
 * Not when one is looked up: a newer runtime looks up all its calls when it
 * starts, and few programs make the new ones.  Their arguments are unknown as
 * well, so the code in front of them saves all argument registers and jumps, in
 * assembly. */
#include "unknown.h"
#include "work.h"

#include <string.h>

enum { UNKNOWN_NAME_MAX = 64 };

static const char of_no_name[] = "a call that this library does not know";

#if defined(__x86_64__)

enum { ENTRIES = 128, ENTRY_BYTES = 16 };

static struct {
    char name[UNKNOWN_NAME_MAX];
    void *call;
} unknown[ENTRIES];
static int unknown_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ENTRIES times: push the number, jump to the rest. */
extern const char preload_unknown_entries[]
    __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"))) void *preload_unknown_called(
    unsigned long number);

/* Calls in progress end before memory moves, and later moves see the mark. */
void *preload_unknown_called(unsigned long number)
{
    bool is_entered = preload_work_enter();

    preload_work_shared(unknown[number].name);
    preload_work_leave(is_entered);
    return unknown[number].call;
}

__asm__(".text\n"
        ".globl preload_unknown_entries\n"
        ".hidden preload_unknown_entries\n"
        ".type preload_unknown_entries, @function\n"
        ".p2align 4\n"
        "preload_unknown_entries:\n"
        "    .set preload_unknown_number, 0\n"
        "    .rept 128\n"
        "    .p2align 4\n"
        "    endbr64\n"
        "    pushq $preload_unknown_number\n"
        "    jmp 1f\n"
        "    .set preload_unknown_number, preload_unknown_number + 1\n"
        "    .endr\n"
        "1:  pushq %rax\n"
        "    pushq %rdi\n"
        "    pushq %rsi\n"
        "    pushq %rdx\n"
        "    pushq %rcx\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    subq $136, %rsp\n" /* calls need 16-byte alignment */
        "    movups %xmm0, (%rsp)\n"
        "    movups %xmm1, 16(%rsp)\n"
        "    movups %xmm2, 32(%rsp)\n"
        "    movups %xmm3, 48(%rsp)\n"
        "    movups %xmm4, 64(%rsp)\n"
        "    movups %xmm5, 80(%rsp)\n"
        "    movups %xmm6, 96(%rsp)\n"
        "    movups %xmm7, 112(%rsp)\n"
        "    movq 192(%rsp), %rdi\n" /* the number */
        "    call preload_unknown_called\n"
        "    movq %rax, %r11\n"
        "    movups (%rsp), %xmm0\n"
        "    movups 16(%rsp), %xmm1\n"
        "    movups 32(%rsp), %xmm2\n"
        "    movups 48(%rsp), %xmm3\n"
        "    movups 64(%rsp), %xmm4\n"
        "    movups 80(%rsp), %xmm5\n"
        "    movups 96(%rsp), %xmm6\n"
        "    movups 112(%rsp), %xmm7\n"
        "    addq $136, %rsp\n"
        "    popq %r9\n"
        "    popq %r8\n"
        "    popq %rcx\n"
        "    popq %rdx\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    popq %rax\n"
        "    addq $8, %rsp\n"
        "    jmp *%r11\n"
        ".size preload_unknown_entries, . - preload_unknown_entries\n");

/* The lock is held.  -1: there is no room. */
static int number_of(const char *name, void *call)
{
    for (int i = 0; i < unknown_count; i++) {
        if (unknown[i].call == call && strcmp(unknown[i].name, name) == 0)
            return i;
    }
    if (unknown_count == ENTRIES || strlen(name) >= UNKNOWN_NAME_MAX)
        return -1;
    memcpy(unknown[unknown_count].name, name, strlen(name) + 1);
    unknown[unknown_count].call = call;
    return unknown_count++;
}

static const char *entry_of(const char *name, void *call)
{
    int number;

    pthread_mutex_lock(&lock);
    number = number_of(name, call);
    pthread_mutex_unlock(&lock);
    return number < 0 ? NULL : preload_unknown_entries + number * ENTRY_BYTES;
}

#else

static const char *entry_of(const char *name, void *call)
{
    (void)name;
    (void)call;
    return NULL;
}

#endif

void *preload_unknown(const char *name, void *call)
{
    const char *entry = entry_of(name, call);
    void *out;

    if (entry == NULL) {
        preload_work_shared(of_no_name);
        return call;
    }
    memcpy(&out, &entry, sizeof out);
    return out;
}
