// A design that Yosys has written as C++ (write_cxxrtl), behind the table of model.h.
//
// Compiled once, and linked with each design.

#include "cxxrtl_prelude.h"

#include <cstring>

void cxxrtl_yosys::note(debug_items& items, const std::string& path, const char* name,
                        debug_item&& item) {
  items.add(path + name, std::move(item));
}

namespace {

const int most_rounds = 1000;  // of one settling: logic without a loop needs one or two

struct Design {
  cxxrtl_toplevel top = cxxrtl_design_create();
  cxxrtl::debug_items items;
  std::vector<cxxrtl::debug_item> signals;  // the ports, then what `find` was asked for

  Design() {
    top->module->debug_info(&items, nullptr, "");
    for (auto name = port_names; *name; name++) signals.push_back(items.at(*name).front());
  }
  ~Design() { delete top; }
};

Design& as_design(void* design) { return *static_cast<Design*>(design); }

size_t bytes(const cxxrtl::debug_item& signal) { return 4 * ((signal.width + 31) / 32); }

void* create() { return new Design; }

void destroy(void* design) { delete &as_design(design); }

void set(void* design, int port, const uint32_t* value) {
  const auto& signal = as_design(design).signals[port];
  memcpy(signal.next, value, bytes(signal));
}

void get(void* design, int port, uint32_t* value) {
  const auto& signal = as_design(design).signals[port];
  if (signal.outline) signal.outline->eval();  // computed only when somebody looks
  memcpy(value, signal.curr, bytes(signal));
}

int settle(void* design) {
  cxxrtl::module& logic = *as_design(design).top->module;
  for (int round = 0; round < most_rounds; round++) {
    bool converged = logic.eval();
    bool changed = logic.commit();
    if (converged || !changed) return 1;
  }
  return 0;
}

int find(void* design, const char* name, int* width) {
  Design& it = as_design(design);
  auto found = it.items.table.find(name);
  if (found == it.items.table.end()) return -1;
  const auto& signal = found->second.front();
  if (found->second.size() > 1 || signal.type == CXXRTL_MEMORY) return -1;
  *width = signal.width;
  it.signals.push_back(signal);
  return it.signals.size() - 1;
}

}  // namespace

const Model* model() {
  static const Model table = {ports_json, create, destroy, set, get, settle, find};
  return &table;
}
