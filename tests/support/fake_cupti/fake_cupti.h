// A library with CUPTI's names and habits that records what a test tells it to: one buffer at a time, asked for when
// the first record comes, handed back at a flush. Loaded with dlopen as the real one is.
#pragma once

#include <cstdint>

extern "C" {
// A kernel of 1 ms that ends now and, where API calls are on, the call that launched it. `name` must stay valid.
void fake_cupti_kernel(const char* name, std::uint32_t correlation, std::int32_t grid);
// A copy of so many bytes from pageable memory to the device, ends now, takes 1 ms.
void fake_cupti_copy(std::uint64_t bytes, std::uint32_t correlation);
// A kernel whose record has no times.
void fake_cupti_kernel_without_time(const char* name);
// cudaGetLastError, as PyTorch calls it after every launch.
void fake_cupti_error_check();
// Stamps of another clock from now on, as after another profiler that registers its own.
void fake_cupti_other_clock(int on);
// Switching a kind on gives this error from now on; 0: none.
void fake_cupti_refuse(std::uint32_t result);
// Keeps buffers at a flush, as with work that never ends on the device.
void fake_cupti_keep_buffers(int on);
// Another profiler's buffer comes to our callback.
void fake_cupti_foreign_buffer();
std::uint32_t fake_cupti_enabled_kinds();
std::uint32_t fake_cupti_thread_id_type();
}
