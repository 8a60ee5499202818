#include "base/task_pool.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace accel {

unsigned usable_threads(unsigned wanted) {
  constexpr unsigned kMax = 64;  // more readers than this only fight for memory bandwidth
  const unsigned threads = wanted != 0 ? wanted : std::thread::hardware_concurrency();
  return std::clamp(threads, 1U, kMax);
}

void parallel_for(unsigned threads, std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto loop = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
  };
  const std::size_t helpers = std::min<std::size_t>(threads, count);
  std::vector<std::thread> pool;
  pool.reserve(helpers);
  for (std::size_t i = 1; i < helpers; ++i) {
    try {
      pool.emplace_back(loop);
    } catch (const std::system_error&) {
      break;  // no more threads to be had: the ones there are do the work
    }
  }
  loop();
  for (std::thread& thread : pool) thread.join();
}

}  // namespace accel
