// SPDX-License-Identifier: BSD-3-Clause
/// Register writes by way of QEMU's qtest socket (-qtest unix:PATH,server=on,wait=off): a line is an access
/// on the machine's bus, with no part of its CPUs. It stands in for a bus master's writes. One thread; each
/// write waits for its answer.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "tests/p2p/peer/bus.h"

namespace pktpit::test_peer {

class Qtest : public Doorbells {
  public:
    /// Errors: nobody listens there.
    static Result<Qtest> connect(const std::string& path);

    /// Ends the program when the machine has gone: there is nothing left to be a device of.
    void write32(uint64_t address, uint32_t value) override;

  private:
    explicit Qtest(Fd socket) : socket_(std::move(socket)) {}
    Fd socket_;
};

}  // namespace pktpit::test_peer
