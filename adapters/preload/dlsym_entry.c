/* dlsym_entry.c - the hook for dlsym().
 *
 * The real dlsym() inspects its return address, because RTLD_NEXT means the
 * library after the caller's.  So a lookup of anything that is not a hook must
 * reach it by a jump, as if there were no hook in between.  This needs a few
 * lines of assembly, because no compiler guarantees a jump. */
#include "preload_state.h"
#include "lookup.h"

#include <dlfcn.h>

#if defined(__x86_64__)

__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        ".p2align 4\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n" /* calls need 16-byte alignment */
        "    .cfi_adjust_cfa_offset 8\n"
        "    call preload_dlsym_hook\n"
        "    testq %rax, %rax\n"
        "    jnz 1f\n"
        "    call preload_dlsym_target\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    jmp *%rax\n"
        "    .cfi_adjust_cfa_offset 24\n"
        "1:  addq $24, %rsp\n"
        "    .cfi_adjust_cfa_offset -24\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size dlsym, . - dlsym\n");

#elif defined(__aarch64__)

__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, %function\n"
        ".p2align 4\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    stp x29, x30, [sp, #-32]!\n"
        "    .cfi_def_cfa_offset 32\n"
        "    .cfi_offset 29, -32\n"
        "    .cfi_offset 30, -24\n"
        "    stp x0, x1, [sp, #16]\n"
        "    mov x29, sp\n"
        "    bl preload_dlsym_hook\n"
        "    cbnz x0, 1f\n"
        "    bl preload_dlsym_target\n"
        "    mov x16, x0\n"
        "    ldp x0, x1, [sp, #16]\n"
        "    ldp x29, x30, [sp], #32\n"
        "    br x16\n"
        "1:  ldp x29, x30, [sp], #32\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size dlsym, . - dlsym\n");

#else

/* Elsewhere rely on the compiler's tail call, which optimization makes a
 * jump. */
void *dlsym(void *restrict handle, const char *restrict name)
{
    typedef void *dlsym_fn(void *, const char *);
    void *found = preload_dlsym_hook(handle, name);
    void *target;
    dlsym_fn *fn;

    if (found != NULL)
        return found;
    target = preload_dlsym_target();
    __builtin_memcpy(&fn, &target, sizeof fn);
    return fn(handle, name);
}

#endif
