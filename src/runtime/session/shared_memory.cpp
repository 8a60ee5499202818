#include "runtime/session/shared_memory.h"

#include <sys/statvfs.h>

#include <cstdio>

namespace accel::runtime {

bool check_shared_memory(const char* path, std::uint64_t needed, SharedMemoryAdvice& advice) {
  constexpr const char* kRemedy =
      "docker run --shm-size=8g; Kubernetes: volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}] and "
      "volumeMounts: [{name: shm, mountPath: /dev/shm}]; on the machine itself, as root: mount -o remount,size=8G %s";
  struct statvfs info{};
  if (::statvfs(path, &info) != 0) {
    std::snprintf(advice.message, sizeof advice.message,
                  "%s is not there: data loader workers and NCCL have no shared memory", path);
    std::snprintf(advice.remedy, sizeof advice.remedy, kRemedy, path);
    return true;
  }
  const std::uint64_t size = std::uint64_t{info.f_blocks} * info.f_frsize;
  const std::uint64_t left = std::uint64_t{info.f_bavail} * info.f_frsize;
  // A size of 0 is a mount without a limit of its own.
  if ((size == 0 || size >= needed) && (size == 0 || left >= needed / 8)) return false;
  std::snprintf(advice.message, sizeof advice.message,
                "%s has %llu MiB, %llu of them free; %llu are advised for data loader workers and NCCL (the recorder "
                "itself does not use it)",
                path, static_cast<unsigned long long>(size >> 20), static_cast<unsigned long long>(left >> 20),
                static_cast<unsigned long long>(needed >> 20));
  std::snprintf(advice.remedy, sizeof advice.remedy, kRemedy, path);
  return true;
}

}  // namespace accel::runtime
