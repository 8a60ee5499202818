#include "runtime/buffer/detached_thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace accel::runtime {
namespace {

struct Start {
  const char* name;
  int nice;
  void (*body)(void*);
  void* context;
};

void* run(void* pointer) {
  const Start start = *static_cast<Start*>(pointer);
  std::free(pointer);
  ::prctl(PR_SET_NAME, start.name);
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), start.nice);
  start.body(start.context);
  // What a failed lookup of the loader left to this thread: the first call marks it as read, the second one frees it.
  // Without it a program that ends together with this thread is reported as leaking by its leak checker.
  ::dlerror();
  ::dlerror();
  return nullptr;
}

}  // namespace

bool start_detached(const char* name, int nice, void (*body)(void*), void* context) {
  auto* start = static_cast<Start*>(std::malloc(sizeof(Start)));
  if (start == nullptr) return false;
  *start = {name, nice, body, context};
  pthread_attr_t attributes;
  bool started = false;
  if (::pthread_attr_init(&attributes) == 0) {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    started = ::pthread_create(&thread, &attributes, run, start) == 0;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::pthread_attr_destroy(&attributes);
  }
  if (!started) std::free(start);
  return started;
}

}  // namespace accel::runtime
