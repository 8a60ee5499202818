// Scope: ap.scope(name) as context manager and decorator. Without a window: one load and one branch beside the call.
// One object may be entered several times, also by several threads and recursively: what is open is kept per object
// in a stack, as with statements nest.
#include <mutex>
#include <vector>

#include "accel/profiler/runtime_c.h"
#include "bindings.h"

namespace accel::python {
namespace {

struct Open {
  unsigned long thread;
  accel_scope scope;
  PyObject* handle;
};

struct Scope {
  PyObject_HEAD accel_name name;
  PyObject* text;
  std::vector<Open>* open;
};

Scope* self_of(PyObject* object) { return reinterpret_cast<Scope*>(object); }

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"name", "category", nullptr};
  PyObject* text = nullptr;
  const char* category = "annotation";
  if (PyArg_ParseTupleAndKeywords(args, keywords, "U|s", const_cast<char**>(names), &text, &category) == 0)
    return nullptr;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text, nullptr);
  if (utf8 == nullptr) return nullptr;
  auto* self = reinterpret_cast<Scope*>(PyType_GenericAlloc(type, 0));
  if (self == nullptr) return nullptr;
  self->name = accel_name_of(category, utf8);
  self->text = Py_NewRef(text);
  self->open = new std::vector<Open>();
  return reinterpret_cast<PyObject*>(self);
}

void destroy(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  Scope* self = self_of(object);
  Py_XDECREF(self->text);
  if (self->open != nullptr) {
    for (const Open& open : *self->open) Py_XDECREF(open.handle);
    delete self->open;
  }
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* enter(PyObject* object, PyObject*) {
  Scope* self = self_of(object);
  if (accel_is_active() != 0) {
    PyObject* handle = annotation_begin(self->text);
    self->open->push_back({PyThread_get_thread_ident(), accel_scope_begin(self->name), handle});
  }
  return Py_NewRef(object);
}

PyObject* leave(PyObject* object, PyObject*) {
  Scope* self = self_of(object);
  if (!self->open->empty()) {
    const unsigned long thread = PyThread_get_thread_ident();
    for (std::size_t i = self->open->size(); i-- > 0;) {
      if ((*self->open)[i].thread != thread) continue;
      const Open open = (*self->open)[i];
      self->open->erase(self->open->begin() + static_cast<std::ptrdiff_t>(i));
      accel_scope_end(open.scope);
      annotation_end(open.handle);
      break;
    }
  }
  Py_RETURN_FALSE;
}

PyMethodDef kMethods[] = {
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", leave, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot kSlots[] = {
    {Py_tp_doc, const_cast<char*>("Scope(name, category='annotation'): a range in the recording while it is entered.")},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_methods, kMethods},
    {0, nullptr},
};
PyType_Spec kSpec = {"accel.profiler._runtime.Scope", sizeof(Scope), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                     kSlots};

}  // namespace

bool add_scope(PyObject* module) {
  PyObject* type = PyType_FromSpec(&kSpec);
  if (type == nullptr) return false;
  const bool added = PyModule_AddObjectRef(module, "Scope", type) == 0;
  Py_DECREF(type);
  return added;
}

}  // namespace accel::python
