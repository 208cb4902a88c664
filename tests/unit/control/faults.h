// SPDX-License-Identifier: BSD-3-Clause
/// Failures at chosen calls to what a test stands in for: kernel, dataplane, switches. Each of those asks
/// here before it does anything, so that a call that fails has done nothing.
#pragma once

#include <new>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace pktpit::router::fake {

class Faults {
  public:
    enum class Kind : uint8_t { error, exception };

    /// The calls with these numbers fail, from 1 on.
    void arm(std::set<size_t> at, Kind kind) {
        at_ = std::move(at);
        kind_ = kind;
        calls_ = 0;
        hits_.clear();
    }
    void disarm() { at_.clear(); }

    /// Of a call that can be refused.
    Result<void> call(const std::string& what) {
        if (!is_hit(what)) return {};
        if (kind_ == Kind::exception) throw std::bad_alloc();
        return fail(what, "injected");
    }
    /// Of a call that cannot.
    void call_without_result(const std::string& what) {
        if (is_hit(what) && kind_ == Kind::exception) throw std::bad_alloc();
    }
    /// What has failed since arm().
    [[nodiscard]] const std::vector<std::string>& hits() const { return hits_; }

  private:
    bool is_hit(const std::string& what) {
        if (!at_.contains(++calls_)) return false;
        hits_.push_back(what);
        return true;
    }
    std::set<size_t> at_;
    Kind kind_ = Kind::error;
    size_t calls_ = 0;
    std::vector<std::string> hits_;
};

}  // namespace pktpit::router::fake
