/* accel-profiler: the runtime SDK, C ABI version 1.
 *
 * A recorder that sleeps inside a training process and is woken by a rule, a signal, a command or a call. There is one
 * in a process. It never prints, throws, aborts, exits or blocks in the host; what it has to say is an error code here
 * or a note in its files.
 *
 *     accel_options options = ACCEL_OPTIONS_INIT;
 *     accel_enable(&options);
 *     accel_rule_add("p50(step_time_ms, 20) > 1.15 * baseline_step_ms", NULL);
 *     for (...) {
 *       accel_scope load = accel_scope_begin(name_of_load);
 *       ...
 *       accel_scope_end(load);
 *       accel_step(NULL);
 *     }
 *
 * Threads: scopes, names, arguments, numbers and marks from any thread. accel_step from one thread at a time. enable,
 * disable, rules and captures from any thread, one call at a time (they take a lock). Nothing here may be called in a
 * signal handler. After fork() the child records nothing and every call in it returns ACCEL_DISABLED.
 *
 * Environment: ACCEL_PROFILER_DISABLE=1 turns everything off. ACCEL_PROFILER_OUTPUT and ACCEL_PROFILER_RULES (a file)
 * are used where the options leave them open.
 */
#ifndef ACCEL_PROFILER_RUNTIME_C_H
#define ACCEL_PROFILER_RUNTIME_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACCEL_RUNTIME_ABI_VERSION 1

#if defined(__GNUC__)
#define ACCEL_RUNTIME_API __attribute__((visibility("default")))
#define ACCEL_RUNTIME_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define ACCEL_RUNTIME_API
#define ACCEL_RUNTIME_UNLIKELY(x) (x)
#endif

typedef enum accel_status {
  ACCEL_OK = 0,
  ACCEL_DISABLED = 1,         /* switched off by the environment, not enabled, or the child of a fork */
  ACCEL_BUSY = 2,             /* a window is open, or another copy of the library has this process */
  ACCEL_INVALID_ARGUMENT = 3, /* null, out of range, or a rule that does not parse */
  ACCEL_NO_RESOURCES = 4,     /* memory, threads, descriptors, or a table is full */
  ACCEL_TIMED_OUT = 5
} accel_status;

typedef enum accel_state {
  ACCEL_STATE_OFF = 0,
  ACCEL_STATE_IDLE = 1,
  ACCEL_STATE_WATCHING = 2,
  ACCEL_STATE_ARMED = 3,
  ACCEL_STATE_ACTIVE = 4,
  ACCEL_STATE_DRAINING = 5
} accel_state;

/* Cost: a call. Which version of this header the library implements; compare with ACCEL_RUNTIME_ABI_VERSION. */
ACCEL_RUNTIME_API uint32_t accel_runtime_abi_version(void);

/* ---- switching on and off ---- */

enum {
  ACCEL_NO_SIGNAL = 1,       /* leave SIGUSR1 alone (it is only ever taken while its disposition is the default) */
  ACCEL_NO_SOCKET = 2,       /* no control socket */
  ACCEL_FORCE_SIGNAL = 4,    /* take a free SIGUSR1 under Slurm too, which uses it to requeue jobs */
  ACCEL_WATCH = 8,           /* WATCHING without any rule: one record of 64 bytes a step, so that the whole run has its
                                curve; also ACCEL_PROFILER_WATCH=1 */
  ACCEL_EXPERT = 16,         /* level 3 may be asked for: no promise of cost is kept; for experiments */
  ACCEL_ALLOW_COMMANDS = 32, /* rules may start commands: notify("command:..."); also ACCEL_PROFILER_ALLOW=commands */
  ACCEL_ALLOW_WEBHOOKS = 64, /* rules may post: notify("http://..."); also ACCEL_PROFILER_ALLOW=webhooks */
  ACCEL_DEVICE_ACTIVITY = 128, /* windows of level 2 record kernels and copies of NVIDIA devices: see "devices" below */
  ACCEL_DEVICE_CALLS = 256     /* the same with sets and with the calls that launch and wait, where a window's schedule
                                  does not say otherwise */
};

typedef struct accel_options {
  uint32_t struct_size;    /* sizeof(accel_options) of the caller */
  uint32_t flags;          /* ACCEL_NO_SIGNAL, ... */
  const char* output;      /* folder of captures, made when needed; NULL: $ACCEL_PROFILER_OUTPUT, else accel-captures */
  int32_t rank;            /* -1: $RANK, $SLURM_PROCID or $OMPI_COMM_WORLD_RANK where set */
  int32_t world_size;      /* -1: $WORLD_SIZE, $SLURM_NTASKS or $OMPI_COMM_WORLD_SIZE where set */
  uint64_t max_ring_bytes; /* of all threads together, 0: 64 MiB. Address space; pages only while a window is open */
  uint64_t max_capture_bytes;   /* a window ends when its file has this size, 0: 1 GiB */
  uint32_t max_capture_seconds; /* a window ends after this time, 0: 60 */
  uint32_t reserved;
  uint64_t max_run_bytes; /* files of the record of the whole run, all together; 0: 256 MiB */
} accel_options;

#define ACCEL_OPTIONS_INIT {sizeof(accel_options), 0, NULL, -1, -1, 0, 0, 0, 0, 0}

/* Cost: about 100 us, once. Goes to IDLE: one thread asleep in poll, under 1 KB of state, nothing recorded. NULL: the
 * defaults. ACCEL_BUSY: another copy of the library is on in this process. */
ACCEL_RUNTIME_API accel_status accel_enable(const accel_options* options);
/* Cost: about 10 us. Goes to OFF; an open window is closed and written in the background (accel_wait waits for it). */
ACCEL_RUNTIME_API accel_status accel_disable(void);
/* Cost: a call and a load. */
ACCEL_RUNTIME_API accel_state accel_runtime_state(void);
/* Cost: up to `timeout_ms` of waiting, as nothing else here; for the end of a program. Waits until no window is armed,
 * open or being written. */
ACCEL_RUNTIME_API accel_status accel_wait(uint32_t timeout_ms);

/* ---- steps ---- */

typedef struct accel_step_info {
  uint32_t struct_size; /* sizeof(accel_step_info) of the caller */
  uint32_t reserved;
  double loss;            /* NaN: not known */
  double samples;         /* of this step; NaN: not known */
  int64_t loader_wait_ns; /* time of the step spent waiting for data; negative: not known */
  int64_t epoch;          /* negative: not known */
} accel_step_info;

#define ACCEL_STEP_INFO_INIT {sizeof(accel_step_info), 0, __builtin_nan(""), __builtin_nan(""), -1, -1}

/* Cost: IDLE below 50 ns, WATCHING 2 us for 20 rules. The end of a step, which is the beginning of the next. Windows
 * open and close here and nowhere else; rules are looked at here. NULL: nothing is known about the step. */
ACCEL_RUNTIME_API accel_status accel_step(const accel_step_info* info);

/* ---- scopes ---- */

/* Cost: a load. 1 while a window is open. Read it with accel_is_active(). */
/* NOLINTNEXTLINE(bugprone-dynamic-static-initializers): a declaration */
ACCEL_RUNTIME_API extern uint32_t accel_runtime_active;

typedef uint32_t accel_name; /* 0: none */
typedef uint32_t accel_args; /* 0: none */

typedef struct accel_scope {
  uint64_t begin; /* 0: nothing is recorded */
  uint32_t name;
  uint32_t depth;
} accel_scope;

#define ACCEL_NO_BYTES UINT64_MAX

/* Cost: under a microsecond, with a lock: call it once per name. A number for a category ("op", "data_loading",
 * "communication", ... or your own; NULL: "annotation") and a name, valid for the life of the process. Never 0. */
ACCEL_RUNTIME_API accel_name accel_name_of(const char* category, const char* name);
/* Cost: about 100 ns, with a lock. A number for a shape (JSON text such as "[[64, 1024]]") and a type. 0 while no
 * window is open. The last 1,000 distinct ones are remembered: ask again per call, not once. */
ACCEL_RUNTIME_API accel_args accel_args_of(const char* shape, const char* dtype);

/* Cost: a clock read and at most 10 ns each. What accel_scope_begin and accel_scope_end call while a window is open. */
ACCEL_RUNTIME_API accel_scope accel_scope_begin_active(accel_name name);
ACCEL_RUNTIME_API void accel_scope_end_active(accel_scope scope, accel_args args, uint64_t bytes);

/* Cost: one load and one branch. */
static inline int accel_is_active(void) {
#if defined(__GNUC__)
  return ACCEL_RUNTIME_UNLIKELY(__atomic_load_n(&accel_runtime_active, __ATOMIC_RELAXED) != 0);
#else
  return *(const volatile uint32_t*)&accel_runtime_active != 0;
#endif
}

/* Cost: no window open, one load and one branch each; window open, two clock reads and at most 20 ns in all. begin and
 * end on the same thread; ends in the order of nesting. A scope that is open when a window opens or closes is not in
 * it. */
static inline accel_scope accel_scope_begin(accel_name name) {
  accel_scope none = {0, 0, 0};
  return accel_is_active() ? accel_scope_begin_active(name) : none;
}
static inline void accel_scope_end(accel_scope scope) {
  if (ACCEL_RUNTIME_UNLIKELY(scope.begin != 0)) accel_scope_end_active(scope, 0, ACCEL_NO_BYTES);
}
static inline void accel_scope_end_with(accel_scope scope, accel_args args, uint64_t bytes) {
  if (ACCEL_RUNTIME_UNLIKELY(scope.begin != 0)) accel_scope_end_active(scope, args, bytes);
}

/* ---- numbers, marks, rules ---- */

typedef uint32_t accel_number; /* ACCEL_NO_NUMBER: the table of 256 names is full, or the name is no name */
#define ACCEL_NO_NUMBER UINT32_MAX

/* Cost: under a microsecond, the first call 20 us: call it once per name. The slot of a number that rules may name. */
ACCEL_RUNTIME_API accel_number accel_number_of(const char* name);
/* Cost: a few ns. A new value; kept only while rules are on, written to the capture only while a window is open. */
ACCEL_RUNTIME_API accel_status accel_record(accel_number number, double value);
/* Cost: under a microsecond, with a lock. A text at this time, in the capture that is open. Cut after 255 bytes. */
ACCEL_RUNTIME_API accel_status accel_mark(const char* text);

typedef struct accel_rule_error {
  uint32_t column;   /* from 1, in bytes */
  char message[192]; /* what is wrong */
  char remedy[192];  /* what to write instead */
} accel_rule_error;

/* Cost: about 20 us and up to 70 KB. A line of the trigger language (docs/formats/trigger.md); IDLE becomes WATCHING.
 * At most 32. `error` may be NULL. */
ACCEL_RUNTIME_API accel_status accel_rule_add(const char* text, accel_rule_error* error);
/* Cost: about 10 us. WATCHING becomes IDLE. */
ACCEL_RUNTIME_API accel_status accel_rules_clear(void);

typedef enum accel_action {
  ACCEL_ACTION_MEMORY_STACK = 1,
  ACCEL_ACTION_DUMP_STACKS = 2,
  ACCEL_ACTION_NOTIFY = 3
} accel_action;
typedef void (*accel_action_handler)(uint32_t action, const char* text, int global, void* context);
/* Cost: under a microsecond, with a lock. Who carries out what a rule asks for beside captures and marks:
 * capture_memory_stack(), dump_stacks() and notify(target). Called on the control thread, which does nothing else
 * meanwhile; `text` dies with the call; `global`: the rule asks for all ranks. It may call accel_capture and
 * accel_notify, and neither accel_rule_add, accel_rules_clear nor accel_on_action. NULL: nobody; then notify is done
 * as accel_notify does it, the other two write a file with the calls and states of the threads (and the memory of the
 * process), and what is missing is said in the files (docs/runtime.md). */
ACCEL_RUNTIME_API accel_status accel_on_action(accel_action_handler handler, void* context);

/* Cost: 50 us to 5 ms. Tells somebody, as notify(target) of a rule does: file:NAME (appended, in the output folder),
 * command:TEXT (by /bin/sh, ACCEL_MESSAGE in its environment, not waited for), http://HOST[:PORT]/PATH (posted as
 * JSON on a thread of its own, for some seconds at most) and https://... (by the program curl); all but the first
 * when allowed. ACCEL_INVALID_ARGUMENT: not done. */
ACCEL_RUNTIME_API accel_status accel_notify(const char* target, const char* message);

typedef int64_t (*accel_agreement_handler)(int64_t proposed_step, uint32_t steps, const char* rule, uint32_t timeout_ms,
                                           void* context);
/* Cost: under a microsecond, with a lock. Who brings all ranks to one step, for rules with @global: returns the first
 * step that all ranks keep, at or after `proposed_step`, or 0 when they do not agree. The handler also has to see to
 * it that the other ranks call accel_capture with that start_step. Called on a thread of its own; what it answers
 * after `timeout_ms` is not heard. Without agreement nothing is recorded. NULL: nobody; then this rank is recorded
 * alone, and its capture says so. */
ACCEL_RUNTIME_API accel_status accel_on_agreement(accel_agreement_handler handler, void* context);

/* ---- windows ---- */

typedef struct accel_schedule {
  uint32_t struct_size; /* sizeof(accel_schedule) of the caller */
  uint32_t wait;        /* steps before anything is recorded */
  uint32_t warmup;      /* steps recorded and thrown away */
  uint32_t active;      /* steps kept, at least 1 */
  uint32_t repeat;      /* windows, one after the other, at least 1; each is a file of its own */
  uint32_t level; /* 1 (costs below 3 %) or 2 (below 8 %): a window that costs more is thinned, then closed; 3 with
                     ACCEL_EXPERT only */
  uint32_t steady_wait; /* wait up to so many steps more until step times spread less than 3 %; 0: do not wait, keep
                           exactly `active` steps */
  uint32_t start_step;  /* index of the first kept step, on which the ranks agreed; warm-up steps come before it. 0: as
                           soon as the steps are steady. A step that is over: at once, and a note says so. A repeated
                           window keeps `active` steps after `wait` and `warmup` more */
  uint32_t device;      /* ACCEL_DEVICE_BY_SESSION, ...: records of devices in this window; callers built
                           before it was there get 0 */
} accel_schedule;

/* What a window of level 2 records of devices. A session without ACCEL_DEVICE_ACTIVITY or ACCEL_DEVICE_CALLS has
 * nothing of devices, and light and rich windows are ACCEL_INVALID_ARGUMENT there. */
enum {
  ACCEL_DEVICE_BY_SESSION = 0, /* as the session's flags say */
  ACCEL_DEVICE_NONE = 1,
  ACCEL_DEVICE_LIGHT = 2, /* kernels and copies */
  ACCEL_DEVICE_RICH = 3   /* and sets and the calls that launch and wait */
};

#define ACCEL_SCHEDULE_INIT {sizeof(accel_schedule), 0, 1, 5, 1, 2, 20, 0, ACCEL_DEVICE_BY_SESSION}

/* Cost: about 10 us; what the window costs is its level's. Arms a window: it opens at a step mark. NULL:
 * ACCEL_SCHEDULE_INIT. Steps that repeat in a cycle (gradient accumulation) are kept for at least two cycles.
 * ACCEL_BUSY: one is armed, open or being written. */
ACCEL_RUNTIME_API accel_status accel_capture(const accel_schedule* schedule);
/* Cost: about 10 us. Closes an open window now, or takes back an armed one. */
ACCEL_RUNTIME_API accel_status accel_capture_stop(void);
/* Cost: a few ns. What the step that runs now is to the open window, for a recorder that goes along with it. Ask on
 * the thread that marks steps, after accel_step. */
typedef struct accel_window {
  uint32_t phase; /* 0: no window is open, 2: a warm-up step, which is thrown away, 3: a step that is kept */
  uint32_t level; /* of the window; 0 without one */
} accel_window;
ACCEL_RUNTIME_API accel_window accel_window_now(void);
/* Cost: under a microsecond, with a lock. The path of the newest capture file, as text of at most `size` bytes with
 * its zero. ACCEL_INVALID_ARGUMENT: none yet, or no room. */
ACCEL_RUNTIME_API accel_status accel_capture_path(char* path, size_t size);

/* ---- devices ---- */

/* Cost: without an open window a lock; with one, pause waits for its records, at most 2 s, and resume takes some 100
 * us. With ACCEL_DEVICE_ACTIVITY windows of level 2 record kernels and copies of NVIDIA devices where CUPTI lets them
 * (1 % of a GPU-bound step, 8 % of a CUDA graph of small kernels; with ACCEL_DEVICE_CALLS 13 % of the latter). Once a
 * window was open 1 % of such a graph's step stays for the life of the process (docs/design/device-activity.md).
 * CUPTI serves one profiler at a time: call pause before another one (torch.profiler) makes its first call and resume
 * after its last. Where CUPTI does not start again, the capture says why. */
ACCEL_RUNTIME_API accel_status accel_device_pause(void);
ACCEL_RUNTIME_API accel_status accel_device_resume(void);

/* ---- Python ---- */

typedef struct accel_python {
  uint32_t struct_size;    /* sizeof(accel_python) of the caller */
  uint32_t version;        /* PY_VERSION_HEX; 0: none any more */
  const void* interpreter; /* PyInterpreterState_Main() */
  const void* code_type;   /* &PyCode_Type */
} accel_python;

/* Cost: some ns; in a window 1 % of a core at most, on a thread of the library's own. From now on windows note at
 * random moments, 20 to 500 a second, where the training thread stands in its Python code. It is read from outside,
 * through the kernel: the interpreter is asked nothing and its lock is not taken. ACCEL_INVALID_ARGUMENT: the layout of
 * this version is not known. Compare a stack of accel_python_stack with one that you know before you believe it, and
 * call this with version 0 when they differ and before the interpreter ends. */
ACCEL_RUNTIME_API accel_status accel_python_use(const accel_python* python);
/* Cost: about 20 us. The Python stack of a thread of this process (gettid), the innermost frame first, as lines
 * "  FILE(LINE): FUNCTION"; the calling thread may ask for its own. Needs no lock of the interpreter, so it works while
 * another thread hangs with it. */
ACCEL_RUNTIME_API accel_status accel_python_stack(int64_t tid, char* text, size_t size);
/* Cost: some ns. While a window is open: the main thread of another process of the same interpreter, a worker of the
 * data loader, is looked at too. At most 64. */
ACCEL_RUNTIME_API accel_status accel_python_worker(int32_t pid);

#ifdef __cplusplus
}
#endif

#endif
