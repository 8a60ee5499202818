// Pseudonyms: stable stand-ins for names that must not leave the house, and the key that leads back. Numbered in the
// order of first use, so that nothing of a name can be guessed from its stand-in. One thread at a time.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace accel::report {

class Pseudonyms {
 public:
  // "file_3" for the third name of kind "file"; the same for the same kind and name, in this run and in every later one
  // that starts from the same key. The empty name stays empty.
  const std::string& of(std::string_view kind, std::string_view name);

  // The key: {"kind": {"pseudonym": "name"}}, in the order of the numbers.
  std::string to_json() const;
  static Result<Pseudonyms> from_json(std::string_view text, const std::string& path);

 private:
  using Names = std::map<std::string, std::string, std::less<>>;  // name -> pseudonym
  std::map<std::string, Names, std::less<>> kinds_;
};

}  // namespace accel::report
