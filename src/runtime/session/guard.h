// Guard: a pthread mutex held to the end of the block. (std::mutex would need the C++ runtime.)
#pragma once

#include <pthread.h>

namespace accel::runtime {

class Guard {
 public:
  explicit Guard(pthread_mutex_t& mutex) : mutex_(mutex) { ::pthread_mutex_lock(&mutex_); }
  ~Guard() { ::pthread_mutex_unlock(&mutex_); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace accel::runtime
