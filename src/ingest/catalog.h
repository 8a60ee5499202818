// Declares what catalog.def lists: accel::NAME::kImporter of each importer.
#pragma once

#include "ingest/importer.h"

#define FRAMEWORK(name)
#define IMPORTER(name)                       \
  namespace accel::name {                    \
  extern const ImporterDescriptor kImporter; \
  }
#include "ingest/catalog.def"
#undef IMPORTER
#undef FRAMEWORK
