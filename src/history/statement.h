// One prepared statement of SQLite: bound in order, stepped, read by column. The first failure sticks and is asked for
// at the end. Used by the database alone. One thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace accel::history {

class Statement {
 public:
  Statement(sqlite3* handle, const char* sql) { status_ = sqlite3_prepare_v2(handle, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t value) {
    if (ok()) status_ = sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  Statement& bind(double value) {
    if (ok()) status_ = sqlite3_bind_double(statement_, ++bound_, value);
    return *this;
  }
  Statement& bind(std::string_view text) {
    if (ok()) {
      status_ = sqlite3_bind_text64(statement_, ++bound_, text.empty() ? "" : text.data(), text.size(),
                                    SQLITE_TRANSIENT, SQLITE_UTF8);
    }
    return *this;
  }
  Statement& bind_null() {
    if (ok()) status_ = sqlite3_bind_null(statement_, ++bound_);
    return *this;
  }

  // True while there is a row.
  bool step() {
    if (!ok()) return false;
    const int got = sqlite3_step(statement_);
    if (got == SQLITE_ROW) return true;
    if (got != SQLITE_DONE) status_ = got;
    return false;
  }
  // For the next use of the same statement.
  void again() {
    if (statement_ != nullptr) sqlite3_reset(statement_);
    bound_ = 0;
  }

  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  bool null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr ? std::string()
                            : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }

  bool ok() const { return status_ == SQLITE_OK; }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int status_ = SQLITE_OK;
  int bound_ = 0;
};

}  // namespace accel::history
