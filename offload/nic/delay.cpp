// SPDX-License-Identifier: BSD-3-Clause
#include "offload/nic/delay.h"

#include <thread>

namespace pktpit::offload {
namespace {

class Sleeping : public Delay {
  public:
    void wait(std::chrono::microseconds time) override { std::this_thread::sleep_for(time); }
};

}  // namespace

Delay& real_delay() {
    static Sleeping delay;
    return delay;
}

}  // namespace pktpit::offload
