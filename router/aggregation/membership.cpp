// SPDX-License-Identifier: BSD-3-Clause
#include "router/aggregation/membership.h"

#include <algorithm>

namespace pktpit::router {

void Membership::join(unsigned worker, uint64_t incarnation, Heard now) {
    if (worker >= workers_) return;
    Worker& one = of_[worker];
    const bool known = (joined_ & bit(worker)) != 0 && one.incarnation == incarnation;
    if (!known && incarnation == one.before) return;  // has been overtaken by the join that replaced it
    one.heard = now;
    if (known) return;
    // It has forgotten what it was in the midst of.
    if (running_) end(bit(worker), now);
    one.before = one.incarnation;
    one.incarnation = incarnation;
    joined_ |= bit(worker);
    told_ &= ~bit(worker);
    if (joined_ != all()) return;
    running_ = true;
    epoch_++;
    lost_ = left_ = told_ = 0;
    // Whoever joined first may have waited long for the last.
    for (unsigned i = 0; i < workers_; i++)
        of_[i].heard = now;
}

void Membership::resume(unsigned worker, uint64_t incarnation, Heard now) {
    of_[worker] = {incarnation, 0, now};
    joined_ |= bit(worker);
    running_ = joined_ == all();
}

void Membership::alive(unsigned worker, Heard now) {
    if (worker < workers_) of_[worker].heard = std::max(of_[worker].heard, now);
}

void Membership::leave(unsigned worker) {
    if (worker >= workers_ || (joined_ & bit(worker)) == 0) return;
    if (!running_) {
        joined_ &= ~bit(worker);
        return;
    }
    left_ |= bit(worker);
    if (left_ != all()) return;
    running_ = false;
    joined_ = left_ = 0;
}

void Membership::end(uint64_t lost, Heard now) {
    running_ = false;
    lost_ = lost;
    told_ = joined_ & ~lost & ~left_;
    joined_ = left_ = 0;
    ended_ = now;
}

void Membership::look(Heard now) {
    uint64_t silent = 0;
    for (unsigned worker = 0; worker < workers_; worker++)
        if ((joined_ & bit(worker)) != 0 && now - of_[worker].heard >= timeout_) silent |= bit(worker);
    if (silent == 0) return;
    if (running_)
        end(silent, now);
    else
        joined_ &= ~silent;
}

uint64_t Membership::to_be_told(Heard now) const {
    return !running_ && now - ended_ < 4 * timeout_ ? told_ : 0;
}

}  // namespace pktpit::router
