// SPDX-License-Identifier: BSD-3-Clause
/* A plugin for QEMU's TCG: how often the emulated CPUs load from and store to each megabyte of memory,
 * counted in a file that the tests map, too. `counts=PATH` names it: MEGABYTES words of 64 bits, and one for
 * all above. Behind them lie two words more: whether to count, which the tests write, and whether it is being
 * counted, which is the answer. While it is not, the machine runs as without a plugin: booting and loading a
 * table take several times as long where each access is looked at.
 *
 * QEMU calls a device's memory "memory" where it is backed by some, as ivshmem's is; its megabytes are then
 * those of QEMU's own numbering, in which the tests find it by reading from it. Registers are not counted.
 *
 * Debian has no header for the interface (QEMU 7.2, version 1 of it; docs/devel/tcg-plugins.rst): what is
 * used is declared here. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct block;
struct instruction;
struct place;
enum registers { no_registers };
enum direction { loads_and_stores = 3 };

void qemu_plugin_register_vcpu_idle_cb(uint64_t plugin, void (*idle)(uint64_t plugin, unsigned cpu));
void qemu_plugin_register_vcpu_resume_cb(uint64_t plugin, void (*resumed)(uint64_t plugin, unsigned cpu));
void qemu_plugin_reset(uint64_t plugin, void (*begin_anew)(uint64_t plugin));
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin,
                                           void (*translated)(uint64_t plugin, struct block*));
size_t qemu_plugin_tb_n_insns(const struct block*);
struct instruction* qemu_plugin_tb_get_insn(const struct block*, size_t index);
void qemu_plugin_register_vcpu_mem_cb(struct instruction*,
                                      void (*accessed)(unsigned cpu, uint32_t info, uint64_t address, void*),
                                      enum registers, enum direction, void*);
struct place* qemu_plugin_get_hwaddr(uint32_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct place*);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct place*);

enum { megabytes = 1 << 16, megabyte_bits = 20, wanted = megabytes + 1, counting, words };

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int qemu_plugin_version = 1;
EXPORTED int qemu_plugin_install(uint64_t plugin, const void* about, int count, char** arguments);

static _Atomic uint64_t* counts;

static void accessed(unsigned cpu, uint32_t info, uint64_t address, void* unused) {
    (void)cpu;
    (void)unused;
    const struct place* place = qemu_plugin_get_hwaddr(info, address);
    if (!place || qemu_plugin_hwaddr_is_io(place)) return;
    const uint64_t megabyte = qemu_plugin_hwaddr_phys_addr(place) >> megabyte_bits;
    atomic_fetch_add_explicit(&counts[megabyte < megabytes ? megabyte : megabytes], 1, memory_order_relaxed);
}

static void translated(uint64_t plugin, struct block* block) {
    (void)plugin;
    const size_t count = qemu_plugin_tb_n_insns(block);
    for (size_t i = 0; i < count; i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(block, i), accessed, no_registers,
                                         loads_and_stores, NULL);
}

static void begin(uint64_t plugin);

/* On a CPU's thread: QEMU then forgets what it has translated. */
static void look(uint64_t plugin, unsigned cpu) {
    (void)cpu;
    if (atomic_load(&counts[wanted]) != atomic_load(&counts[counting])) qemu_plugin_reset(plugin, begin);
}

/* Never back: QEMU 7.2 ends by a fault where it has to forget calls for memory. */
static void begin(uint64_t plugin) {
    const uint64_t count = atomic_load(&counts[wanted]);
    qemu_plugin_register_vcpu_idle_cb(plugin, look);
    qemu_plugin_register_vcpu_resume_cb(plugin, look);
    if (count) qemu_plugin_register_vcpu_tb_trans_cb(plugin, translated);
    atomic_store(&counts[counting], count);
}

int qemu_plugin_install(uint64_t plugin, const void* about, int count, char** arguments) {
    (void)about;
    static const char option[] = "counts=";
    if (count != 1 || strncmp(arguments[0], option, sizeof option - 1) != 0) return 1;
    const size_t bytes = words * sizeof *counts;
    const int file = open(arguments[0] + sizeof option - 1, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0) return 1;
    void* mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) return 1;
    counts = mapped;
    begin(plugin);
    return 0;
}
