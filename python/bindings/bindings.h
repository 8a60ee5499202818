// What the sources of the extension module accel.profiler._runtime share. Everything here runs under the GIL; errors of
// Python code that runs for a recording are dropped, never passed into the training.
#pragma once

#include <Python.h>

namespace accel::python {

// Adds the callables that record scopes (ModuleCall, TimedCall) and their settings. False: a Python error is set.
bool add_recording_calls(PyObject* module);
// Adds Scope, the context manager and decorator.
bool add_scope(PyObject* module);

// Ranges for torch.profiler while it records for us: enter(text) gives a handle, exit(handle) takes it. Null: none.
struct Annotations {
  PyObject* enter = nullptr;
  PyObject* exit = nullptr;
};
Annotations& annotations();
// A new reference or null; never leaves an error behind.
PyObject* annotation_begin(PyObject* text);
void annotation_end(PyObject* handle);

}  // namespace accel::python
