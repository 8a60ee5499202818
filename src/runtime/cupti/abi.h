// What of CUPTI's binary interface the recorder uses, declared here because nothing of CUDA is needed to build it: the
// library is found at run time. Every record begins with the fields below in all CUPTI versions since CUDA 11 (later
// record types only add at their ends), which tests/python/test_cupti_layout.py checks against NVIDIA's own headers.
// Source of names and values: the CUPTI headers of CUDA 13.0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace accel::runtime::cupti {

using Result = int;  // 0: success
using Context = void*;

enum ActivityKind : std::uint32_t {
  kKindMemcpy = 1,
  kKindMemset = 2,
  kKindKernel = 3,
  kKindDriver = 4,
  kKindRuntime = 5,
  kKindConcurrentKernel = 10,
  kKindOverhead = 17,
  kKindMemcpyPeer = 22,
};

struct KernelRecord {
  std::uint32_t kind;
  std::uint8_t cache_config;
  std::uint8_t shared_memory_config;
  std::uint16_t registers;
  std::uint32_t partitioned_cache[2];
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t completed;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::int32_t grid[3];
  std::int32_t block[3];
  std::int32_t static_shared_memory;
  std::int32_t dynamic_shared_memory;
  std::uint32_t local_memory_per_thread;
  std::uint32_t local_memory;
  std::uint32_t correlation;
  std::int64_t grid_id;
  const char* name;
  void* reserved;
  std::uint64_t queued;
  std::uint64_t submitted;
  std::uint8_t launch_type;
  std::uint8_t shared_memory_carveout_requested;
  std::uint8_t shared_memory_carveout;
  std::uint8_t pad[1];
  std::uint32_t shared_memory_executed;
  std::uint64_t graph_node;
  std::uint32_t shared_memory_limit;
  std::uint32_t graph;
};
static_assert(sizeof(KernelRecord) == 160 && offsetof(KernelRecord, name) == 104);

struct CopyRecord {
  std::uint32_t kind;
  std::uint8_t copy_kind;
  std::uint8_t source;
  std::uint8_t destination;
  std::uint8_t flags;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t correlation;
  std::uint32_t runtime_correlation;
  std::uint32_t pad;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
  std::uint32_t pad2;
};
static_assert(sizeof(CopyRecord) == 80);

struct PeerCopyRecord {
  std::uint32_t kind;
  std::uint8_t copy_kind;
  std::uint8_t source;
  std::uint8_t destination;
  std::uint8_t flags;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t source_device;
  std::uint32_t source_context;
  std::uint32_t destination_device;
  std::uint32_t destination_context;
  std::uint32_t correlation;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
  std::uint32_t pad;
};
static_assert(sizeof(PeerCopyRecord) == 88);

struct SetRecord {
  std::uint32_t kind;
  std::uint32_t value;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t correlation;
  std::uint16_t flags;
  std::uint16_t memory_kind;
  std::uint32_t pad;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
  std::uint32_t pad2;
};
static_assert(sizeof(SetRecord) == 80);

struct CallRecord {
  std::uint32_t kind;
  std::uint32_t function;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t process;
  std::uint32_t thread;
  std::uint32_t correlation;
  std::uint32_t result;
};
static_assert(sizeof(CallRecord) == 40);

using RequestBuffer = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
using BufferComplete = void (*)(Context context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                                std::size_t valid_bytes);
using Timestamp = std::uint64_t (*)();

inline constexpr std::uint32_t kFlushForced = 1;
inline constexpr std::uint32_t kDomainDriver = 1;
inline constexpr std::uint32_t kDomainRuntime = 2;
inline constexpr std::uint32_t kThreadIdOfSystem = 1;  // 0, the default: a part of pthread_t
inline constexpr Result kNoMoreRecords = 12;           // CUPTI_ERROR_MAX_LIMIT_REACHED
inline constexpr Result kErrorPrivileges = 35;         // CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
inline constexpr Result kErrorOneSubscriber = 39;      // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED

// The functions that are looked up; all of them are there since CUDA 11.6.
struct Functions {
  Result (*get_version)(std::uint32_t* version) = nullptr;
  Result (*get_result_string)(Result result, const char** text) = nullptr;
  Result (*get_timestamp)(std::uint64_t* ticks) = nullptr;
  Result (*get_callback_name)(std::uint32_t domain, std::uint32_t function, const char** name) = nullptr;
  Result (*register_callbacks)(RequestBuffer request, BufferComplete complete) = nullptr;
  Result (*register_timestamp)(Timestamp timestamp) = nullptr;
  Result (*enable)(std::uint32_t kind) = nullptr;
  Result (*disable)(std::uint32_t kind) = nullptr;
  Result (*flush_all)(std::uint32_t flag) = nullptr;
  Result (*next_record)(std::uint8_t* buffer, std::size_t valid_bytes, const std::uint32_t** record) = nullptr;
  Result (*get_thread_id_type)(std::uint32_t* type) = nullptr;
  Result (*set_thread_id_type)(std::uint32_t type) = nullptr;
  Result (*dropped_records)(Context context, std::uint32_t stream, std::size_t* dropped) = nullptr;
};

}  // namespace accel::runtime::cupti
