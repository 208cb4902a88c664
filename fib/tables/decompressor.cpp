// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/decompressor.h"

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>

#include <cstdint>

namespace pktpit::fib {
namespace {

// xz -9 asks for 65 MiB to decompress; more than this is an attack or a mistake.
constexpr uint64_t most_xz_memory = 256ull << 20;

class Xz final : public Decompressor {
  public:
    explicit Xz(std::string path) : path_(std::move(path)) {}
    ~Xz() override { lzma_end(&stream_); }

    Result<void> start() {
        // Concatenated: `cat a.xz b.xz` is a valid xz file too.
        const lzma_ret code = lzma_stream_decoder(&stream_, most_xz_memory, LZMA_CONCATENATED);
        if (code != LZMA_OK) return fail(path_, meaning_of(code));
        return {};
    }

    Result<Progress> run(std::span<const char> input, bool last, std::span<char> output) override {
        stream_.next_in = reinterpret_cast<const uint8_t*>(input.data());
        stream_.avail_in = input.size();
        stream_.next_out = reinterpret_cast<uint8_t*>(output.data());
        stream_.avail_out = output.size();
        const lzma_ret code = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
        if (code != LZMA_OK && code != LZMA_STREAM_END)
            return fail(path_, meaning_of(code), "a complete xz file");
        return Progress{input.size() - stream_.avail_in, output.size() - stream_.avail_out,
                        code == LZMA_STREAM_END};
    }

  private:
    static const char* meaning_of(lzma_ret code) {
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

    std::string path_;
    lzma_stream stream_ = LZMA_STREAM_INIT;
};

/// What gzip and bzip2 share: one library call unpacks one member, and a file may have several.
class Members : public Decompressor {
  public:
    explicit Members(std::string path, std::string name) : path_(std::move(path)), name_(std::move(name)) {}

    Result<Progress> run(std::span<const char> input, bool last, std::span<char> output) override {
        Progress progress;
        while (!progress.finished) {
            if (between_) {
                // A member's end may be that of the file: whether it is shows with the next bytes.
                if (progress.consumed == input.size()) {
                    progress.finished = last;
                    break;
                }
                between_ = false;
                if (!restart()) return fail(path_, "out of memory while decompressing");
            }
            const size_t produced_before = progress.produced;
            const size_t consumed_before = progress.consumed;
            const Step step = unpack(input.subspan(progress.consumed), output.subspan(progress.produced));
            if (step.failed)
                return fail(path_, "damaged " + name_ + " data", "a complete " + name_ + " file");
            progress.consumed += step.consumed;
            progress.produced += step.produced;
            between_ = step.ended;
            if (between_) continue;
            if (progress.produced == output.size()) break;
            if (progress.consumed == input.size() && !last) break;
            if (progress.produced == produced_before && progress.consumed == consumed_before)
                return fail(path_, name_ + " data ends too early", "a complete " + name_ + " file");
        }
        return progress;
    }

  protected:
    struct Step {
        size_t consumed = 0, produced = 0;
        bool ended = false, failed = false;
    };
    virtual bool restart() = 0;
    virtual Step unpack(std::span<const char> input, std::span<char> output) = 0;

  private:
    std::string path_;
    std::string name_;
    bool between_ = true;  ///< members: none begun, or the last one complete
};

class Gzip final : public Members {
  public:
    explicit Gzip(const std::string& path) : Members(path, "gzip") {}
    ~Gzip() override { end(); }
    Gzip(const Gzip&) = delete;
    Gzip& operator=(const Gzip&) = delete;

  private:
    bool restart() override {
        end();
        stream_ = {};
        // 16: gzip's header and trailer around the data, and their checksum.
        begun_ = inflateInit2(&stream_, 15 + 16) == Z_OK;
        return begun_;
    }
    Step unpack(std::span<const char> input, std::span<char> output) override {
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
        stream_.avail_in = static_cast<uInt>(input.size());
        stream_.next_out = reinterpret_cast<Bytef*>(output.data());
        stream_.avail_out = static_cast<uInt>(output.size());
        const int code = inflate(&stream_, Z_NO_FLUSH);
        return {input.size() - stream_.avail_in, output.size() - stream_.avail_out, code == Z_STREAM_END,
                code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR};
    }
    void end() {
        if (begun_) inflateEnd(&stream_);
        begun_ = false;
    }

    z_stream stream_{};
    bool begun_ = false;
};

class Bzip2 final : public Members {
  public:
    explicit Bzip2(const std::string& path) : Members(path, "bzip2") {}
    ~Bzip2() override { end(); }
    Bzip2(const Bzip2&) = delete;
    Bzip2& operator=(const Bzip2&) = delete;

  private:
    bool restart() override {
        end();
        stream_ = {};
        begun_ = BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK;
        return begun_;
    }
    Step unpack(std::span<const char> input, std::span<char> output) override {
        stream_.next_in = const_cast<char*>(input.data());
        stream_.avail_in = static_cast<unsigned>(input.size());
        stream_.next_out = output.data();
        stream_.avail_out = static_cast<unsigned>(output.size());
        const int code = BZ2_bzDecompress(&stream_);
        return {input.size() - stream_.avail_in, output.size() - stream_.avail_out, code == BZ_STREAM_END,
                code != BZ_OK && code != BZ_STREAM_END};
    }
    void end() {
        if (begun_) BZ2_bzDecompressEnd(&stream_);
        begun_ = false;
    }

    bz_stream stream_{};
    bool begun_ = false;
};

}  // namespace

Result<std::unique_ptr<Decompressor>> Decompressor::create(Compression compression, const std::string& path) {
    if (compression == Compression::gzip) return std::make_unique<Gzip>(path);
    if (compression == Compression::bzip2) return std::make_unique<Bzip2>(path);
    auto xz = std::make_unique<Xz>(path);
    if (auto good = xz->start(); !good) return tl::unexpected(good.error());
    return xz;
}

}  // namespace pktpit::fib
