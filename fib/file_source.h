/// A file's bytes in pieces, unpacked on the way where it is xz-compressed (by its magic, not by its name).
/// One thread. Never holds more than a piece of the file in memory, and for xz what its dictionary takes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "fib/result.h"

namespace pktpit::fib {

class FileSource {
  public:
    /// Errors name the path and why it cannot be read.
    static Result<FileSource> open(const std::string& path);
    ~FileSource();
    FileSource(FileSource&&) noexcept;
    FileSource& operator=(FileSource&&) noexcept;

    /// The next bytes, valid until the next call; empty at the end. Damaged or truncated xz data is an error.
    Result<std::span<const char>> next();

  private:
    struct State;
    explicit FileSource(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace pktpit::fib
