// SPDX-License-Identifier: BSD-3-Clause
/// A change of the machine that is undone however the process ends, SIGKILL included: a child process makes
/// it, waits until its parent is gone or lets go, and undoes it. Create it before any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace pktpit::bench::harness {

class Caretaker {
  public:
    /// Runs in the child: `change` returns what it comes to, `undo` is given that.
    Caretaker(const std::function<int64_t()>& change, const std::function<void(int64_t)>& undo);
    /// Returns when it is undone.
    ~Caretaker();
    Caretaker(const Caretaker&) = delete;
    Caretaker& operator=(const Caretaker&) = delete;

    /// What `change` returned.
    [[nodiscard]] int64_t result() const { return result_; }

  private:
    int64_t result_ = 0;
    int alive_ = -1;  ///< the pipe whose end tells the child that this process is gone
    pid_t child_ = -1;
};

}  // namespace pktpit::bench::harness
