// SPDX-License-Identifier: BSD-3-Clause
/// Takes compressed bytes apart piece by piece. Used by FileSource alone. One thread. Memory: what the
/// format's window takes, at most 256 MiB.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "fib/tables/format.h"

namespace pktpit::fib {

class Decompressor {
  public:
    struct Progress {
        size_t consumed = 0, produced = 0;
        bool finished = false;  ///< a whole file, as far as the input given shows
    };

    /// For any compression but `none`. Errors name `path`.
    static Result<std::unique_ptr<Decompressor>> create(Compression compression, const std::string& path);
    virtual ~Decompressor() = default;
    Decompressor(const Decompressor&) = delete;
    Decompressor& operator=(const Decompressor&) = delete;

    /// Unpacks from `input` into `output`; `last`: the file has no bytes behind `input`. Several compressed
    /// files one behind the other are one file, as the formats' own tools have it. Data that are damaged,
    /// incomplete or followed by others are an error.
    virtual Result<Progress> run(std::span<const char> input, bool last, std::span<char> output) = 0;

  protected:
    Decompressor() = default;
};

}  // namespace pktpit::fib
