// SPDX-License-Identifier: BSD-3-Clause
/// The system calls that the daemon may make (seccomp), by an allow-list. Called by main, once, before the
/// first thread. Never undone.
#pragma once

#include "base/result.h"

namespace pktpit::router {

/// A call that is not on the list fails with EPERM, and the first of its number is told on standard error,
/// with its number and where it came from: it neither ends the daemon, and with it what forwards, nor passes
/// unseen.
Result<void> allow_known_system_calls();

/// Sanitizers make calls of their own: a build with one has no allow-list.
bool system_calls_are_left_open();

}  // namespace pktpit::router
