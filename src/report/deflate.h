// Deflate in one pass: raw (RFC 1951), what DecompressionStream calls deflate-raw, or as a gzip file. The packed bytes
// go on piece by piece, so that only they are ever in memory. One thread per object.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace accel::report {

using ByteSink = std::function<void(std::string_view)>;

class Deflater {
 public:
  enum class Format { raw, gzip };

  Deflater(Format format, ByteSink sink);
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void append(std::string_view bytes);
  // Nothing may be appended afterwards.
  void finish();

 private:
  struct State;
  void run(std::string_view bytes, bool last);

  std::unique_ptr<State> state_;
  ByteSink sink_;
};

}  // namespace accel::report
