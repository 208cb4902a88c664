// SPDX-License-Identifier: BSD-3-Clause
/* The daemon that the judge must find guilty: loaded into pktpitd (LD_PRELOAD), it reads payloads where they
 * wait, again and again. PKTPIT_CONTROL says how: "copy" keeps copies in main memory, where a search finds
 * them; "pieces" reads four bytes at a time and wipes them, which no search finds. PKTPIT_CONTROL_BAR is the
 * file of the memory's BAR.
 *
 * For the tests alone: the daemon's own sources have nothing of it. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { slot_bytes = 2048, seen_bytes = 64 };

static const volatile uint32_t* memory;
static size_t memory_bytes;
static uint32_t* copies;  // null: wiped at once

static void* touch(void* unused) {
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    for (;; nanosleep(&pause, NULL))
        for (size_t slot = 0; slot < memory_bytes / slot_bytes; slot++)
            for (size_t word = 0; word < seen_bytes / sizeof *memory; word++) {
                volatile uint32_t piece = memory[slot * (slot_bytes / sizeof *memory) + word];
                if (copies) copies[slot * (seen_bytes / sizeof *memory) + word] = piece;
                piece = 0;
            }
    return unused;
}

__attribute__((constructor)) static void begin(void) {
    const char* how = getenv("PKTPIT_CONTROL");
    const char* bar = getenv("PKTPIT_CONTROL_BAR");
    if (!how || !bar) return;
    const int file = open(bar, O_RDWR | O_CLOEXEC);
    struct stat about;
    if (file < 0 || fstat(file, &about) != 0) _exit(9);
    memory_bytes = (size_t)about.st_size;
    void* mapped = mmap(NULL, memory_bytes, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) _exit(9);
    memory = mapped;
    if (strcmp(how, "copy") == 0) copies = malloc(memory_bytes / slot_bytes * seen_bytes);
    // Signals are the daemon's.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    if (pthread_create(&thread, NULL, touch, NULL) != 0) _exit(9);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
