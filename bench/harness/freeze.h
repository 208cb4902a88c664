// SPDX-License-Identifier: BSD-3-Clause
/// A forwarder's process stands still while others are measured. The calling thread is of the process that
/// started it.
#pragma once

#include <sys/types.h>

namespace pktpit::bench::harness {

/// SIGSTOP to a child; returns when all its threads have stopped, or the child has ended (which is left to be
/// waited for). The signal is taken by one thread, often an ordinary one: beside other load that thread
/// waited for a core, and a worker that polls without end, in real time, kept the core of the next forwarder
/// for hundreds of milliseconds.
void freeze_process(pid_t child);
/// SIGCONT.
void thaw_process(pid_t child);

}  // namespace pktpit::bench::harness
