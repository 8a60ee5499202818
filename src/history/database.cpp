#include "history/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "history/statement.h"

namespace accel::history {
namespace {

constexpr const char* kDamaged =
    "the kernel database is damaged; put an earlier copy in its place, or make it anew from the captures";

constexpr int kApplication = 0x414b5044;  // "AKPD"
constexpr int kVersion = 1;
constexpr int kBusyMs = 10'000;
constexpr std::int64_t kPageBytes = 4096;

// The whole schema; a file must hold exactly this.
constexpr const char* kTables[] = {
    "CREATE TABLE run (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, label TEXT NOT NULL, source TEXT NOT "
    "NULL, producer TEXT NOT NULL, time_ns INTEGER NOT NULL, versions TEXT NOT NULL, sm_clock_mhz REAL, clock_reasons "
    "INTEGER NOT NULL, left_out INTEGER NOT NULL) STRICT",
    "CREATE TABLE work (id INTEGER PRIMARY KEY, op TEXT NOT NULL, dims TEXT NOT NULL, types TEXT NOT NULL, strides "
    "TEXT "
    "NOT NULL, device TEXT NOT NULL, concrete TEXT NOT NULL, UNIQUE (op, dims, types, strides, device)) STRICT",
    "CREATE TABLE kernel (id INTEGER PRIMARY KEY, work INTEGER NOT NULL REFERENCES work (id), name TEXT NOT NULL, grid "
    "TEXT NOT NULL, block TEXT NOT NULL, UNIQUE (work, name, grid, block)) STRICT",
    "CREATE TABLE sample (kernel INTEGER NOT NULL REFERENCES kernel (id), run INTEGER NOT NULL REFERENCES run (id), "
    "count INTEGER NOT NULL, total_ns INTEGER NOT NULL, min_ns INTEGER NOT NULL, median_ns INTEGER NOT NULL, max_ns "
    "INTEGER NOT NULL, PRIMARY KEY (kernel, run)) STRICT, WITHOUT ROWID",
    "CREATE TABLE counter (kernel INTEGER NOT NULL REFERENCES kernel (id), run INTEGER NOT NULL REFERENCES run (id), "
    "metric TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (kernel, run, metric)) STRICT, WITHOUT ROWID",
    "CREATE INDEX sample_by_run ON sample (run)",
    "CREATE INDEX counter_by_run ON counter (run)",
};

// "key=value" lines; line ends inside become blanks.
std::string versions_text(const std::map<std::string, std::string>& versions) {
  std::string text;
  for (const auto& [key, value] : versions) {
    std::string line = fmt::format("{}={}", key, value);
    std::replace(line.begin(), line.end(), '\n', ' ');
    text += line;
    text += '\n';
  }
  return text;
}

}  // namespace

Database::~Database() { sqlite3_close(handle_); }
Database::Database(Database&& other) noexcept
    : path_(std::move(other.path_)), handle_(std::exchange(other.handle_, nullptr)) {}
Database& Database::operator=(Database&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(handle_, other.handle_);
  return *this;
}

Error Database::error(const char* what) const {
  const int code = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle_);
  const std::string said = handle_ == nullptr ? "no memory" : sqlite3_errmsg(handle_);
  switch (code) {
    case SQLITE_NOTADB:
      return {ErrorCode::not_a_trace, "this is no kernel database: no SQLite file", path_};
    case SQLITE_CORRUPT:
      return {ErrorCode::unreadable, kDamaged, path_};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::io, "another process holds the kernel database; try again", path_};
    case SQLITE_FULL:
      return {ErrorCode::out_of_range,
              "the disk is full, or the kernel database would grow beyond 256 MiB: keep fewer runs (--keep)", path_};
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return {ErrorCode::io, fmt::format("the kernel database cannot be opened for this ({})", said), path_};
    default:
      return {ErrorCode::io, fmt::format("the kernel database: {} ({})", what, said), path_};
  }
}

Result<void> Database::execute(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return error("a change failed");
  return {};
}

Result<Database> Database::open(const std::string& path, Mode mode) {
  std::error_code ignored;
  const bool there = std::filesystem::exists(path, ignored);
  if (mode == Mode::read && !there) {
    return Error{ErrorCode::not_found, "there is no kernel database; \"accel-profiler kernels record TRACE\" makes one",
                 path};
  }
  if (there && !std::filesystem::is_regular_file(path, ignored))
    return Error{ErrorCode::not_a_trace, "this is no kernel database: no file", path};
  Database database;
  database.path_ = path;
  const int flags = mode == Mode::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(path.c_str(), &database.handle_, flags, nullptr) != SQLITE_OK) return database.error("open");
  if (auto ready = database.prepare(mode); !ready) return ready.error();
  return database;
}

Result<void> Database::prepare(Mode mode) {
  sqlite3_busy_timeout(handle_, kBusyMs);
  // The file may come from anywhere: nothing in it may run code, and no value may be larger than what is written here.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, 1 << 20);
  if (auto set = execute("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0"); !set) return set;
  if (mode == Mode::write) {
    const std::string pages = fmt::format("PRAGMA max_page_count = {}", kMostBytes / kPageBytes);
    if (auto set = execute(pages.c_str()); !set) return set;
  }
  Statement tables(handle_, "SELECT count(*) FROM sqlite_master");
  if (!tables.step()) return error("reading failed");
  if (tables.number(0) == 0 && mode == Mode::write) {
    std::string sql =
        fmt::format("BEGIN IMMEDIATE; PRAGMA application_id = {}; PRAGMA user_version = {};", kApplication, kVersion);
    for (const char* table : kTables) sql += std::string(table) + ";";
    // Another process may have made them meanwhile; then the check says so.
    if (auto made = execute((sql + "COMMIT").c_str()); !made) {
      sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
      if (!check_schema()) return made;
    }
  }
  return check_schema();
}

Result<void> Database::check_schema() {
  Statement application(handle_, "PRAGMA application_id");
  if (!application.step()) return error("reading failed");
  if (application.number(0) != kApplication)
    return Error{ErrorCode::not_a_trace, "this is an SQLite file, but no kernel database", path_};
  Statement version(handle_, "PRAGMA user_version");
  if (!version.step()) return error("reading failed");
  if (version.number(0) > kVersion) {
    return Error{ErrorCode::unreadable,
                 fmt::format("the kernel database has version {}, this program reads up to {}: update accel-profiler",
                             version.number(0), kVersion),
                 path_};
  }
  const auto damaged = [&] { return Error{ErrorCode::unreadable, kDamaged, path_}; };
  Statement check(handle_, "PRAGMA quick_check(1)");
  if (!check.step()) return error("reading failed");
  if (check.text(0) != "ok") return damaged();
  Statement schema(handle_, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL");
  std::vector<std::string> found;
  while (schema.step() && found.size() <= std::size(kTables)) found.push_back(schema.text(0));
  if (!schema.ok()) return error("reading failed");
  std::vector<std::string> wanted(std::begin(kTables), std::end(kTables));
  std::sort(found.begin(), found.end());
  std::sort(wanted.begin(), wanted.end());
  if (found != wanted) return damaged();
  return {};
}

Result<Database::Recorded> Database::insert(const RunSamples& run) {
  Recorded outcome;
  Statement known(handle_, "SELECT id FROM run WHERE fingerprint = ?");
  if (known.bind(std::string_view(run.fingerprint)).step()) {
    outcome.known = true;
    outcome.run = known.number(0);
    if (!run.label.empty()) {
      Statement label(handle_, "UPDATE run SET label = ? WHERE id = ?");
      label.bind(std::string_view(run.label)).bind(outcome.run).step();
      if (!label.ok()) return error("a change failed");
    }
  } else {
    if (!known.ok()) return error("reading failed");
    Statement add(handle_,
                  "INSERT INTO run (fingerprint, label, source, producer, time_ns, versions, sm_clock_mhz, "
                  "clock_reasons, left_out) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    add.bind(std::string_view(run.fingerprint)).bind(std::string_view(run.label)).bind(std::string_view(run.source));
    add.bind(std::string_view(run.producer)).bind(run.time_ns).bind(std::string_view(versions_text(run.versions)));
    run.sm_clock_mhz ? add.bind(*run.sm_clock_mhz) : add.bind_null();
    add.bind(static_cast<std::int64_t>(run.clock_reasons)).bind(static_cast<std::int64_t>(run.left_out)).step();
    if (!add.ok()) return error("a change failed");
    outcome.run = sqlite3_last_insert_rowid(handle_);
  }
  Statement add_work(handle_,
                     "INSERT INTO work (op, dims, types, strides, device, concrete) VALUES (?, ?, ?, ?, ?, ?) ON "
                     "CONFLICT DO NOTHING");
  Statement find_work(handle_,
                      "SELECT id FROM work WHERE op = ? AND dims = ? AND types = ? AND strides = ? AND device = ?");
  Statement add_kernel(handle_,
                       "INSERT INTO kernel (work, name, grid, block) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING");
  Statement find_kernel(handle_, "SELECT id FROM kernel WHERE work = ? AND name = ? AND grid = ? AND block = ?");
  Statement add_sample(handle_,
                       "INSERT INTO sample (kernel, run, count, total_ns, min_ns, median_ns, max_ns) VALUES (?, ?, ?, "
                       "?, ?, ?, ?) ON CONFLICT DO NOTHING");
  Statement add_counter(handle_,
                        "INSERT INTO counter (kernel, run, metric, value) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                        "SET value = excluded.value");
  for (const KernelSample& one : run.kernels) {
    const Work& work = one.kernel.work;
    for (Statement* statement : {&add_work, &find_work}) {
      statement->again();
      statement->bind(std::string_view(work.op)).bind(std::string_view(work.dims)).bind(std::string_view(work.types));
      statement->bind(std::string_view(work.strides)).bind(std::string_view(work.device));
    }
    add_work.bind(std::string_view(one.concrete)).step();
    if (!add_work.ok() || !find_work.step()) return error("a change failed");
    const std::int64_t work_id = find_work.number(0);
    for (Statement* statement : {&add_kernel, &find_kernel}) {
      statement->again();
      statement->bind(work_id).bind(std::string_view(one.kernel.name));
      statement->bind(std::string_view(one.kernel.grid)).bind(std::string_view(one.kernel.block));
    }
    add_kernel.step();
    if (!add_kernel.ok() || !find_kernel.step()) return error("a change failed");
    const std::int64_t kernel_id = find_kernel.number(0);
    add_sample.again();
    add_sample.bind(kernel_id).bind(outcome.run).bind(static_cast<std::int64_t>(one.count)).bind(one.total_ns);
    add_sample.bind(one.min_ns).bind(one.median_ns).bind(one.max_ns).step();
    if (!add_sample.ok()) return error("a change failed");
    for (const auto& [metric, value] : one.counters) {
      add_counter.again();
      add_counter.bind(kernel_id).bind(outcome.run).bind(std::string_view(metric)).bind(value).step();
      if (!add_counter.ok()) return error("a change failed");
    }
  }
  return outcome;
}

Result<std::int64_t> Database::drop_oldest(std::int64_t keep_runs) {
  keep_runs = std::clamp<std::int64_t>(keep_runs, 1, kMostRuns);
  Statement count(handle_, "SELECT count(*) FROM run");
  if (!count.step()) return error("reading failed");
  const std::int64_t surplus = count.number(0) - keep_runs;
  if (surplus <= 0) return std::int64_t{0};
  const std::string oldest = fmt::format("(SELECT id FROM run ORDER BY time_ns, id LIMIT {})", surplus);
  const std::string sql = fmt::format(
      "DELETE FROM counter WHERE run IN {0}; DELETE FROM sample WHERE run IN {0}; DELETE FROM run WHERE id IN {0};"
      "DELETE FROM kernel WHERE id NOT IN (SELECT kernel FROM sample);"
      "DELETE FROM work WHERE id NOT IN (SELECT work FROM kernel)",
      oldest);
  if (auto done = execute(sql.c_str()); !done) return done.error();
  return surplus;
}

Result<Database::Recorded> Database::record(const RunSamples& run, std::int64_t keep_runs) {
  if (auto begun = execute("BEGIN IMMEDIATE"); !begun) return begun.error();
  Result<Recorded> outcome = insert(run);
  if (outcome) {
    const auto dropped = drop_oldest(keep_runs);
    if (!dropped) outcome = dropped.error();
    if (dropped) outcome->runs_dropped = *dropped;
  }
  if (outcome) {
    if (auto done = execute("COMMIT"); !done) outcome = done.error();
  }
  if (!outcome) sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  return outcome;
}

Result<std::int64_t> Database::merge(Database& other, std::int64_t keep_runs) {
  const auto theirs = other.runs();
  if (!theirs) return theirs.error();
  if (auto begun = execute("BEGIN IMMEDIATE"); !begun) return begun.error();
  std::int64_t came = 0;
  std::optional<Error> failed;
  for (const RunRow& row : *theirs) {
    const auto samples = other.run_samples(row);
    const auto inserted = samples ? insert(*samples) : Result<Recorded>(samples.error());
    if (!inserted) {
      failed = inserted.error();
      break;
    }
    came += inserted->known ? 0 : 1;
  }
  if (!failed) {
    const auto dropped = drop_oldest(keep_runs);
    if (!dropped) failed = dropped.error();
  }
  if (!failed) {
    if (auto done = execute("COMMIT"); !done) failed = done.error();
  }
  if (!failed) return came;
  sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  return *failed;
}

}  // namespace accel::history
