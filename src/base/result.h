// Result<T>: a value or an Error. Errors are values: nothing below the Python layer throws on purpose.
// Owned by whoever holds it; no thread rules beyond those of T.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace accel {

enum class ErrorCode {
  invalid_argument,  // the caller asked for something that cannot be (usage, exit status 2)
  not_found,         // no such file, rank, step, entry
  io,                // the system refused to read or write
  not_a_trace,       // the input is something else; the message says what and what to do
  unreadable,        // the input is of the right kind and so damaged that nothing could be kept
  out_of_range,      // a bound of this program was met; the message names it
  cancelled,         // interrupted from outside
};

struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;  // a whole sentence for a person: what is wrong and what to do
  std::string where;    // file, byte, option: what the message is about; may be empty
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return !error_.has_value(); }
  bool ok() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace accel
