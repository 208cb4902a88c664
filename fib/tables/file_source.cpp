// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/file_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/errno_text.h"
#include "base/regular_file.h"
#include "fib/tables/decompressor.h"

namespace pktpit::fib {

struct FileSource::State {
    std::string path;
    Fd descriptor;
    Compression compression = Compression::none;
    std::unique_ptr<Decompressor> decompressor;
    bool at_end = false;        ///< of the file
    bool finished = false;      ///< the decompressor has seen its end
    size_t begin = 0, end = 0;  ///< bytes in `input` not yet handed on
    std::array<char, 65536> input{};
    std::array<char, 65536> output{};

    [[nodiscard]] tl::unexpected<Error> system_error(const char* what) const {
        return fail(path, std::string(what) + ": " + errno_text(errno));
    }

    /// Fills an empty `input` as far as the file goes.
    Result<void> fill() {
        begin = end = 0;
        while (end < input.size() && !at_end) {
            const ssize_t count = read(descriptor.get(), input.data() + end, input.size() - end);
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return system_error("cannot read");
            at_end = count == 0;
            end += static_cast<size_t>(count);
        }
        return {};
    }

    Result<std::span<const char>> next_plain() {
        if (begin == end) {
            if (auto good = fill(); !good) return tl::unexpected(good.error());
        }
        const std::span<const char> result(input.data() + begin, end - begin);
        begin = end;
        return result;
    }

    Result<std::span<const char>> next_decompressed() {
        while (!finished) {
            if (begin == end) {
                if (auto good = fill(); !good) return tl::unexpected(good.error());
            }
            const auto progress =
                decompressor->run({input.data() + begin, end - begin}, at_end || begin == end, output);
            if (!progress) return tl::unexpected(progress.error());
            begin += progress->consumed;
            finished = progress->finished;
            if (progress->produced) return std::span<const char>(output.data(), progress->produced);
        }
        return std::span<const char>{};
    }
};

FileSource::FileSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
FileSource::~FileSource() = default;
FileSource::FileSource(FileSource&&) noexcept = default;
FileSource& FileSource::operator=(FileSource&&) noexcept = default;

Result<FileSource> FileSource::open(const std::string& path) {
    Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail(path, "cannot open: " + errno_text(errno));
    return read_from(path, std::move(file));
}

Result<FileSource> FileSource::open_regular(const std::string& path) {
    auto file = open_regular_file(path);
    if (!file) return fail(path, "cannot open: " + file.error().message);
    return read_from(path, std::move(*file));
}

Result<FileSource> FileSource::read_from(const std::string& path, Fd file) {
    auto state = std::make_unique<State>();
    state->path = path;
    state->descriptor = std::move(file);
    if (auto good = state->fill(); !good) return tl::unexpected(good.error());
    state->compression = detect_compression({state->input.data(), state->end});
    if (state->compression != Compression::none) {
        auto decompressor = Decompressor::create(state->compression, path);
        if (!decompressor) return tl::unexpected(decompressor.error());
        state->decompressor = std::move(*decompressor);
    }
    return FileSource(std::move(state));
}

Compression FileSource::compression() const {
    return state_->compression;
}

Result<std::span<const char>> FileSource::next() {
    return state_->decompressor ? state_->next_decompressed() : state_->next_plain();
}

}  // namespace pktpit::fib
