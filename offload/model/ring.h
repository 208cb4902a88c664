// SPDX-License-Identifier: BSD-3-Clause
/// A queue of plain values in a ring that grows when it is full and never shrinks: nothing is allocated once
/// a run has found its size. One thread.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace pktpit::model {

template <class T>
class Ring {
  public:
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] size_t size() const { return count_; }
    [[nodiscard]] T& front() { return values_[first_]; }
    [[nodiscard]] T& operator[](size_t i) { return values_[(first_ + i) & (values_.size() - 1)]; }
    void push(T value) {
        if (count_ == values_.size()) grow();
        values_[(first_ + count_++) & (values_.size() - 1)] = std::move(value);
    }
    T pop() {
        T value = std::move(values_[first_]);
        first_ = (first_ + 1) & (values_.size() - 1);
        count_--;
        return value;
    }

  private:
    void grow() {
        std::vector<T> larger(values_.empty() ? 16 : values_.size() * 2);
        for (size_t i = 0; i < count_; i++)
            larger[i] = std::move((*this)[i]);
        values_ = std::move(larger);
        first_ = 0;
    }
    std::vector<T> values_;
    size_t first_ = 0;
    size_t count_ = 0;
};

}  // namespace pktpit::model
