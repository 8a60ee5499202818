// Walks the members of a JSON object, or the elements of a list, as pieces of text: each piece can then be parsed on
// its own, so that one bad piece or a cut file costs no more than itself. Pure; linear; no recursion.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace accel {

// End of the value that starts at `at`, or npos where the text ends first.
std::size_t end_of_json_value(std::string_view text, std::size_t at);

// Calls visit(key, value) for each member of the object that `text` holds; a value that is cut is given as far as it
// goes, once. True if the object was whole.
bool each_member(std::string_view text, const std::function<void(std::string_view, std::string_view)>& visit);

// Calls visit(element) for each whole element of a list. True if the list was whole.
bool each_element(std::string_view text, const std::function<void(std::string_view)>& visit);

}  // namespace accel
