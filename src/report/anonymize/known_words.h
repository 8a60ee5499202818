// Names of the interpreter and the framework that may stand beside a user's words, and texts of both with the user's
// words replaced. What is not known here counts as the user's. Pure functions, any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace accel::report {

// What stands for a word that is not known.
using Replace = std::function<std::string(std::string_view)>;

// "enumerate(DataLoader)#_MyIter.__next__" -> "enumerate(DataLoader)#_name_1.__next__": words of ranges that PyTorch
// records stay.
std::string with_known_range_words(std::string_view text, const Replace& replace);
// Of a counter: words of hardware and process figures.
bool is_known_counter(std::string_view name);
bool is_built_in_function(std::string_view name);  // of the interpreter: "len", "sleep"
bool is_built_in_type(std::string_view name);      // "dict"
bool is_tensor_type(std::string_view name);        // "c10::BFloat16", "ScalarList"

// A file of the standard library whose name a user's script may well have ("trace.py", "code/train.py"): functions in
// it are known only if they are in wide use.
bool is_surely_standard(std::string_view file, std::string_view function);

}  // namespace accel::report
