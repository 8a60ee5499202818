// Callables that stand in for Python functions of torch and record a scope around them while a window is open.
//
// ModuleCall takes the place of nn.Module.__call__: it binds as a method (Dynamo compares mod.__call__.__func__ with
// it) and, without a window, costs one load, one branch and a call. TimedCall does the same for one function and one
// name. Both hand on attributes that they do not have to the function behind them, so that inspect and pickle see no
// change.
#include "bindings.h"
// After Python.h, which bindings.h brings.
#include <structmember.h>

#include <unordered_map>

#include "accel/profiler/runtime_c.h"

namespace accel::python {
namespace {

// What a module is called in a recording. `text` is owned; null: the module is not recorded.
struct ModuleName {
  accel_name name = 0;
  PyObject* text = nullptr;
};

// Python objects by address: the Python side keeps a weak reference to each module and takes it out when it dies.
std::unordered_map<PyObject*, ModuleName>& module_names() {
  static auto* names = new std::unordered_map<PyObject*, ModuleName>();  // outlives the interpreter
  return *names;
}

PyObject* g_resolver = nullptr;  // called with a module that has no name yet; it calls name_module
PyObject* g_describe =
    nullptr;  // called with (module, first argument) while another recorder wants ranges; gives the text of the range
PyObject* g_method_type = nullptr;
PyObject* g_on_due = nullptr;  // called before the next call when a step is due
bool g_due = false;

struct RecordingCall {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* original;
  PyObject* text;    // TimedCall
  PyObject* before;  // TimedCall: called with the arguments, whenever it is set
  accel_name name;
};

RecordingCall* self_of(PyObject* object) { return reinterpret_cast<RecordingCall*>(object); }

void drop_error() {
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
}

ModuleName name_of_module(PyObject* module) {
  auto& names = module_names();
  auto known = names.find(module);
  if (known == names.end() && g_resolver != nullptr) {
    PyObject* done = PyObject_CallOneArg(g_resolver, module);
    Py_XDECREF(done);
    drop_error();
    known = names.find(module);
    if (known == names.end()) known = names.emplace(module, ModuleName()).first;
  }
  return known == names.end() ? ModuleName() : known->second;
}

// The text with batch and type, as a new reference, or null.
PyObject* described(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  PyObject* text = PyObject_CallFunctionObjArgs(g_describe, module, count > 1 ? args[1] : Py_None, nullptr);
  drop_error();
  if (text != nullptr && PyUnicode_Check(text) == 0) Py_CLEAR(text);
  return text;
}

void step_if_due() {
  if (!g_due) [[likely]]
    return;
  g_due = false;
  if (g_on_due == nullptr) return;
  Py_XDECREF(PyObject_CallNoArgs(g_on_due));
  drop_error();
}

PyObject* call_recorded(RecordingCall* self, const ModuleName& name, PyObject* const* args, std::size_t nargsf,
                        PyObject* kwnames) {
  PyObject* handle = annotation_begin(name.text);
  const accel_scope scope = accel_scope_begin(name.name);
  PyObject* result = PyObject_Vectorcall(self->original, args, nargsf, kwnames);
  accel_scope_end(scope);
  if (handle != nullptr) {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    annotation_end(handle);
    PyErr_Restore(type, value, traceback);
  }
  return result;
}

PyObject* call_module(PyObject* object, PyObject* const* args, std::size_t nargsf, PyObject* kwnames) {
  RecordingCall* self = self_of(object);
  const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  step_if_due();
  if (accel_is_active() == 0 || count == 0) return PyObject_Vectorcall(self->original, args, nargsf, kwnames);
  ModuleName name = name_of_module(args[0]);
  if (name.name == 0) return PyObject_Vectorcall(self->original, args, nargsf, kwnames);
  PyObject* text = g_describe == nullptr || annotations().enter == nullptr ? nullptr : described(args[0], args, count);
  if (text != nullptr) name.text = text;
  PyObject* result = call_recorded(self, name, args, nargsf, kwnames);
  Py_XDECREF(text);
  return result;
}

PyObject* call_timed(PyObject* object, PyObject* const* args, std::size_t nargsf, PyObject* kwnames) {
  RecordingCall* self = self_of(object);
  if (self->before != nullptr && self->before != Py_None) {
    Py_XDECREF(PyObject_Vectorcall(self->before, args, PyVectorcall_NARGS(nargsf), kwnames));
    drop_error();
  }
  if (accel_is_active() == 0) return PyObject_Vectorcall(self->original, args, nargsf, kwnames);
  return call_recorded(self, {self->name, self->text}, args, nargsf, kwnames);
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  return PyObject_CallFunctionObjArgs(g_method_type, self, object, nullptr);
}

// What the function behind has and this object has not: __code__, __wrapped__, __doc__, ...
PyObject* attribute(PyObject* object, PyObject* name) {
  for (const char* of_function : {"__module__", "__doc__"}) {
    if (PyUnicode_CompareWithASCIIString(name, of_function) == 0)
      return PyObject_GetAttr(self_of(object)->original, name);
  }
  PyObject* own = PyObject_GenericGetAttr(object, name);
  if (own != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return own;
  PyErr_Clear();
  return PyObject_GetAttr(self_of(object)->original, name);
}

PyObject* reduce(PyObject* object, PyObject*) {
  return PyObject_GetAttrString(self_of(object)->original, "__qualname__");
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  RecordingCall* self = self_of(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->original);
  Py_VISIT(self->text);
  Py_VISIT(self->before);
  return 0;
}

int clear(PyObject* object) {
  RecordingCall* self = self_of(object);
  Py_CLEAR(self->original);
  Py_CLEAR(self->text);
  Py_CLEAR(self->before);
  return 0;
}

void destroy(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  clear(object);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

RecordingCall* make(PyTypeObject* type, PyObject* original, vectorcallfunc function) {
  if (PyCallable_Check(original) == 0) {
    PyErr_SetString(PyExc_TypeError, "the function behind must be callable");
    return nullptr;
  }
  auto* self = reinterpret_cast<RecordingCall*>(PyType_GenericAlloc(type, 0));
  if (self == nullptr) return nullptr;
  self->vectorcall = function;
  self->original = Py_NewRef(original);
  return self;
}

PyObject* new_module_call(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* original = nullptr;
  if (PyArg_ParseTuple(args, "O", &original) == 0) return nullptr;
  return reinterpret_cast<PyObject*>(make(type, original, call_module));
}

PyObject* new_timed_call(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *original = nullptr, *before = Py_None;
  const char *category = nullptr, *name = nullptr;
  if (PyArg_ParseTuple(args, "Oss|O", &original, &category, &name, &before) == 0) return nullptr;
  RecordingCall* self = make(type, original, call_timed);
  if (self == nullptr) return nullptr;
  self->name = accel_name_of(category, name);
  self->text = PyUnicode_FromString(name);
  self->before = Py_NewRef(before);
  return reinterpret_cast<PyObject*>(self);
}

PyMemberDef kMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(RecordingCall, vectorcall), READONLY, nullptr},
    {"original", T_OBJECT_EX, offsetof(RecordingCall, original), READONLY, "the function behind"},
    {"__original_fn", T_OBJECT_EX, offsetof(RecordingCall, original), READONLY, "the same, for Dynamo"},
    {nullptr, 0, 0, 0, nullptr},
};
PyMethodDef kMethods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

PyType_Slot kModuleSlots[] = {
    {Py_tp_doc,
     const_cast<char*>("ModuleCall(function): records a scope for each module called while a window is open.")},
    {Py_tp_new, reinterpret_cast<void*>(new_module_call)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
    {Py_tp_getattro, reinterpret_cast<void*>(attribute)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_members, kMembers},
    {Py_tp_methods, kMethods},
    {0, nullptr},
};
PyType_Slot kTimedSlots[] = {
    {Py_tp_doc,
     const_cast<char*>("TimedCall(function, category, name, before=None): records a scope for each call while a "
                       "window is open; before(*args) runs first, its errors are dropped.")},
    {Py_tp_new, reinterpret_cast<void*>(new_timed_call)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
    {Py_tp_getattro, reinterpret_cast<void*>(attribute)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_members, kMembers},
    {Py_tp_methods, kMethods},
    {0, nullptr},
};
constexpr unsigned kFlags =
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
PyType_Spec kModuleSpec = {"accel.profiler._runtime.ModuleCall", sizeof(RecordingCall), 0, kFlags, kModuleSlots};
PyType_Spec kTimedSpec = {"accel.profiler._runtime.TimedCall", sizeof(RecordingCall), 0, kFlags, kTimedSlots};

// ---- settings ----

void set(PyObject*& slot, PyObject* value) {
  PyObject* before = slot;
  slot = value == Py_None ? nullptr : Py_NewRef(value);
  Py_XDECREF(before);
}

PyObject* set_resolver(PyObject*, PyObject* callable) {
  set(g_resolver, callable);
  Py_RETURN_NONE;
}

PyObject* set_describe(PyObject*, PyObject* callable) {
  set(g_describe, callable);
  Py_RETURN_NONE;
}

PyObject* set_on_due(PyObject*, PyObject* callable) {
  set(g_on_due, callable);
  Py_RETURN_NONE;
}

PyObject* set_due(PyObject*, PyObject* value) {
  g_due = PyObject_IsTrue(value) == 1;
  Py_RETURN_NONE;
}

PyObject* set_annotations(PyObject*, PyObject* args) {
  PyObject *enter = nullptr, *exit = nullptr;
  if (PyArg_ParseTuple(args, "OO", &enter, &exit) == 0) return nullptr;
  set(annotations().enter, enter);
  set(annotations().exit, exit);
  Py_RETURN_NONE;
}

PyObject* name_module(PyObject*, PyObject* args) {
  PyObject *module = nullptr, *text = nullptr;
  const char* category = nullptr;
  if (PyArg_ParseTuple(args, "OsU", &module, &category, &text) == 0) return nullptr;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text, nullptr);
  if (utf8 == nullptr) return nullptr;
  ModuleName& name = module_names()[module];
  Py_XDECREF(name.text);
  name = {accel_name_of(category, utf8), Py_NewRef(text)};
  return PyLong_FromUnsignedLong(name.name);
}

PyObject* forget_module(PyObject*, PyObject* address) {
  void* key = PyLong_AsVoidPtr(address);
  if (key == nullptr && PyErr_Occurred() != nullptr) return nullptr;
  const auto known = module_names().find(static_cast<PyObject*>(key));
  if (known != module_names().end()) {
    Py_XDECREF(known->second.text);
    module_names().erase(known);
  }
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"set_resolver", set_resolver, METH_O,
     "set_resolver(callable | None): called with a module that is called in a window and has no name."},
    {"set_describe", set_describe, METH_O,
     "set_describe(callable | None): called with (module, first argument) for each range of another recorder; gives "
     "its "
     "text or None."},
    {"set_on_due", set_on_due, METH_O,
     "set_on_due(callable | None): called when a step is due and a module is called."},
    {"set_due", set_due, METH_O, "set_due(bool): a step is due."},
    {"set_annotations", set_annotations, METH_VARARGS,
     "set_annotations(enter | None, exit | None): ranges for another recorder, around the same calls."},
    {"name_module", name_module, METH_VARARGS,
     "name_module(module, category, text): the name of a module's calls; gives its number."},
    {"forget_module", forget_module, METH_O, "forget_module(address): the module is gone."},
    {nullptr, nullptr, 0, nullptr},
};

bool add_type(PyObject* module, PyType_Spec& spec, const char* name) {
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) return false;
  // Dynamo goes straight to __original_fn of what has this: modules with hooks are traced as without us.
  const bool added = PyObject_SetAttrString(type, "__script_if_tracing_wrapper", Py_True) == 0 &&
                     PyModule_AddObjectRef(module, name, type) == 0;
  Py_DECREF(type);
  return added;
}

}  // namespace

Annotations& annotations() {
  static Annotations both;
  return both;
}

PyObject* annotation_begin(PyObject* text) {
  if (annotations().enter == nullptr || text == nullptr) return nullptr;
  PyObject* handle = PyObject_CallOneArg(annotations().enter, text);
  drop_error();
  return handle;
}

void annotation_end(PyObject* handle) {
  if (handle == nullptr) return;
  if (annotations().exit != nullptr) Py_XDECREF(PyObject_CallOneArg(annotations().exit, handle));
  drop_error();
  Py_DECREF(handle);
}

bool add_recording_calls(PyObject* module) {
  PyObject* types = PyImport_ImportModule("types");
  if (types == nullptr) return false;
  g_method_type = PyObject_GetAttrString(types, "MethodType");
  Py_DECREF(types);
  return g_method_type != nullptr && add_type(module, kModuleSpec, "ModuleCall") &&
         add_type(module, kTimedSpec, "TimedCall") && PyModule_AddFunctions(module, kFunctions) == 0;
}

}  // namespace accel::python
