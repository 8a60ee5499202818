#include "format/native_layout.h"

namespace accel::format {
namespace {

#define NATIVE_TABLE(number, Name, name, doc) constexpr ColumnLayout k##Name##Columns[] = {
#define NATIVE_COLUMN(Name, type, name, unit, doc) {#name, unit, ColumnType::type},
#define NATIVE_TABLE_END(Name) \
  }                            \
  ;
#include "format/native_schema.def"
#undef NATIVE_TABLE
#undef NATIVE_COLUMN
#undef NATIVE_TABLE_END

constexpr TableLayout kTables[] = {
#define NATIVE_TABLE(number, Name, name, doc) \
  {name, k##Name##Columns, number, static_cast<std::uint16_t>(sizeof(k##Name##Columns) / sizeof(ColumnLayout))},
#define NATIVE_COLUMN(Name, type, name, unit, doc)
#define NATIVE_TABLE_END(Name)
#include "format/native_schema.def"
#undef NATIVE_TABLE
#undef NATIVE_COLUMN
#undef NATIVE_TABLE_END
};
constexpr std::size_t kTableCount = sizeof(kTables) / sizeof(TableLayout);

constexpr ColumnLayout kSchemaColumns[] = {
    {"table", "", ColumnType::u16}, {"type", "", ColumnType::u8},   {"table_name", "", ColumnType::text},
    {"name", "", ColumnType::text}, {"unit", "", ColumnType::text},
};
constexpr TableLayout kSchema = {"schema", kSchemaColumns, kSchemaTable, 5};

constexpr bool fits() {
  for (std::size_t i = 0; i < kTableCount; ++i) {
    if (kTables[i].number != i + 1 || kTables[i].column_count > kMaxColumns) return false;
  }
  return kTableCount < kMaxTables;
}
static_assert(fits(), "tables are numbered 1, 2, 3 ... without gaps");

}  // namespace

const TableLayout& layout_of(NativeTable table) { return kTables[static_cast<std::size_t>(table) - 1]; }

const TableLayout* native_layouts(std::size_t& count) {
  count = kTableCount;
  return kTables;
}

const TableLayout& schema_layout() { return kSchema; }

}  // namespace accel::format
