// SPDX-License-Identifier: BSD-3-Clause
/// The VLAN table of a FIB image: open addressing as fib/lookup.h reads it. Used by FibImage alone.
/// Writer's thread only.
#pragma once

#include "fib/image.h"

namespace pktpit::fib {

class Vlans {
  public:
    Vlans(std::byte* image, const pp_fib_geometry& geometry);

    Result<void> set(const pp_fib_vlan& value);
    void erase(const pp_fib_vlan& key);
    [[nodiscard]] uint32_t used() const { return used_; }

  private:
    [[nodiscard]] uint32_t slot(const pp_fib_vlan& key, uint32_t probe) const;
    [[nodiscard]] pp_fib_vlan* find(const pp_fib_vlan& key) const;

    pp_fib_vlan* table_;
    uint32_t count_;
    uint32_t used_ = 0;
};

}  // namespace pktpit::fib
