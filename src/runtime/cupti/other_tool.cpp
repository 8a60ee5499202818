#include "runtime/cupti/other_tool.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/cupti/library.h"

namespace accel::runtime::cupti {
namespace {

// Mapped into the process by the tool itself, also where it was attached or the environment was cleaned.
struct Mapped {
  const char* library;
  const char* tool;
};
constexpr Mapped kMapped[] = {
    {"libToolsInjection", "Nsight Systems"},
    {"libcuda-injection", "Nsight Compute"},
    {"libsanitizer-public", "Compute Sanitizer"},
};

// Written while the session is switched on, before its control thread starts.
constinit char g_of_environment[120] = {};

}  // namespace

void look_at_environment() {
  g_of_environment[0] = 0;
  const char* session = std::getenv("NSYS_PROFILING_SESSION_ID");
  const char* injected = std::getenv("CUDA_INJECTION64_PATH");
  if (session != nullptr && *session != 0) {
    std::snprintf(g_of_environment, sizeof g_of_environment, "Nsight Systems (NSYS_PROFILING_SESSION_ID is set)");
    return;
  }
  // "none" is what those write who switch an injection off.
  if (injected == nullptr || *injected == 0 || std::strcmp(injected, "none") == 0) return;
  const char* slash = std::strrchr(injected, '/');
  std::snprintf(g_of_environment, sizeof g_of_environment, "%.80s (CUDA_INJECTION64_PATH is set)",
                slash == nullptr ? injected : slash + 1);
}

bool other_tool(char* text, std::size_t size) {
  for (const Mapped& mapped : kMapped) {
    if (mapped_library(mapped.library) == nullptr) continue;
    std::snprintf(text, size, "%s (%s is mapped)", mapped.tool, mapped.library);
    return true;
  }
  std::snprintf(text, size, "%s", g_of_environment);
  return g_of_environment[0] != 0;
}

}  // namespace accel::runtime::cupti
