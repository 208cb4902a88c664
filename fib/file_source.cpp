#include "fib/file_source.h"

#include <fcntl.h>
#include <lzma.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace pktpit::fib {
namespace {

// xz -9 asks for 65 MiB to decompress; more than this is an attack or a mistake.
constexpr uint64_t most_xz_memory = 256ull << 20;
constexpr std::array<uint8_t, 6> xz_magic = {0xfd, '7', 'z', 'X', 'Z', 0};

const char* meaning_of(lzma_ret code) {
    switch (code) {
        case LZMA_FORMAT_ERROR:
            return "not an xz file behind its magic";
        case LZMA_OPTIONS_ERROR:
            return "xz options that this liblzma does not know";
        case LZMA_DATA_ERROR:
            return "damaged xz data";
        case LZMA_BUF_ERROR:
            return "xz data ends too early";
        case LZMA_MEM_ERROR:
            return "out of memory while decompressing";
        case LZMA_MEMLIMIT_ERROR:
            return "xz dictionary of more than 256 MiB";
        default:
            return "xz decoder failed";
    }
}

}  // namespace

struct FileSource::State {
    std::string path;
    int descriptor = -1;
    bool compressed = false;
    bool finished = false;
    lzma_stream xz = LZMA_STREAM_INIT;
    size_t filled = 0;  ///< bytes in `input` not yet handed on
    std::array<char, 65536> input{};
    std::array<char, 65536> output{};

    ~State() {
        lzma_end(&xz);
        if (descriptor >= 0) close(descriptor);
    }

    [[nodiscard]] tl::unexpected<Error> system_error(const char* what) const {
        return fail(path, std::string(what) + ": " + std::strerror(errno));
    }

    /// Fills `input` up; false at the end of the file with nothing in it.
    Result<bool> fill() {
        while (filled < input.size()) {
            const ssize_t count = read(descriptor, input.data() + filled, input.size() - filled);
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return system_error("cannot read");
            if (count == 0) break;
            filled += static_cast<size_t>(count);
        }
        return filled > 0;
    }

    Result<std::span<const char>> next_plain() {
        const auto more = fill();
        if (!more) return tl::unexpected(more.error());
        const std::span<const char> result(input.data(), filled);
        filled = 0;
        return result;
    }

    Result<std::span<const char>> next_decompressed() {
        if (finished) return std::span<const char>{};
        xz.next_out = reinterpret_cast<uint8_t*>(output.data());
        xz.avail_out = output.size();
        while (xz.avail_out == output.size()) {
            if (xz.avail_in == 0) {
                const auto more = fill();
                if (!more) return tl::unexpected(more.error());
                xz.next_in = reinterpret_cast<const uint8_t*>(input.data());
                xz.avail_in = filled;
                filled = 0;
            }
            const lzma_ret code = lzma_code(&xz, xz.avail_in == 0 ? LZMA_FINISH : LZMA_RUN);
            finished = code == LZMA_STREAM_END;
            if (finished) break;
            if (code != LZMA_OK) return fail(path, meaning_of(code), "a complete xz file");
        }
        return std::span<const char>(output.data(), output.size() - xz.avail_out);
    }
};

FileSource::FileSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
FileSource::~FileSource() = default;
FileSource::FileSource(FileSource&&) noexcept = default;
FileSource& FileSource::operator=(FileSource&&) noexcept = default;

Result<FileSource> FileSource::open(const std::string& path) {
    auto state = std::make_unique<State>();
    state->path = path;
    state->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (state->descriptor < 0) return state->system_error("cannot open");
    if (const auto filled = state->fill(); !filled) return tl::unexpected(filled.error());
    state->compressed = state->filled >= xz_magic.size() &&
                        std::memcmp(state->input.data(), xz_magic.data(), xz_magic.size()) == 0;
    if (state->compressed) {
        // Concatenated: `cat a.xz b.xz` is a valid xz file too.
        const lzma_ret code = lzma_stream_decoder(&state->xz, most_xz_memory, LZMA_CONCATENATED);
        if (code != LZMA_OK) return fail(path, meaning_of(code));
    }
    return FileSource(std::move(state));
}

Result<std::span<const char>> FileSource::next() {
    return state_->compressed ? state_->next_decompressed() : state_->next_plain();
}

}  // namespace pktpit::fib
