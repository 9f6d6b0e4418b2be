// What stands before every design that Yosys has written as C++. Compiled once, where the compiler
// can do so.

#pragma once
#include <cxxrtl/cxxrtl.h>

#include "model.h"

// The design's own, beside its code.
extern const char* const ports_json;
extern const char* const port_names[];  // ends with nullptr
extern "C" cxxrtl_toplevel cxxrtl_design_create();

namespace cxxrtl_yosys {

// Does what Yosys's `items.add(path, name, attributes, ...)` does, apart from the attributes.
void note(debug_items& items, const std::string& path, const char* name, debug_item&& item);

}  // namespace cxxrtl_yosys
