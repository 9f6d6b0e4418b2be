// A design that Verilator has written as C++, behind the table of model.h.
//
// Compiled after the design itself, with `ports.h`: TOP (the design's class), EVAL (what its eval()
// is without all around it), PORTS_JSON and PORT_MEMBERS (one PORT(name) for each port).

#include <cstring>
#include <stdexcept>
#include <vector>

#include "model.h"
#include "ports.h"

// Verilator's own would end the process, and with it the learner's notebook.
void vl_fatal(const char*, int, const char*, const char* words) { throw std::runtime_error(words); }

namespace {

struct Signal {  // Verilator keeps a value in 1, 2, 4, 8 or more bytes, whatever fits it
  void* value;
  size_t bytes;
};

struct Design {
  VerilatedContext context;
  TOP top{&context, ""};
  std::vector<Signal> signals;
  bool begun = false;

  Design() {
#define PORT(name) signals.push_back({&top.name, sizeof top.name});
    PORT_MEMBERS
#undef PORT
  }
  ~Design() { top.final(); }
};

Design& as_design(void* design) { return *static_cast<Design*>(design); }

void* create() { return new Design; }

void destroy(void* design) { delete &as_design(design); }

void set(void* design, int port, const uint32_t* value) {
  const Signal& signal = as_design(design).signals[port];
  memcpy(signal.value, value, signal.bytes);
}

void get(void* design, int port, uint32_t* value) {
  const Signal& signal = as_design(design).signals[port];
  if (signal.bytes == 1) {  // a bit in most cases, and asked for in every cycle
    value[0] = *static_cast<const uint8_t*>(signal.value);
    return;
  }
  value[0] = 0;
  memcpy(value, signal.value, signal.bytes);
}

// Behind each eval() Verilator looks for messages and for objects to delete, under locks, which
// takes as long as a small circuit. A circuit of ours has neither: only the first call, which also
// initialises, is a whole one.
int settle(void* design) {
  Design& one = as_design(design);
  try {
    if (one.begun) {
      EVAL(one.top.rootp);
    } else {
      one.top.eval();
    }
    one.begun = true;
    return 1;
  } catch (const std::runtime_error&) {
    return 0;
  }
}

int find(void*, const char*, int*) { return -1; }  // ports only

}  // namespace

const Model* model() {
  static const Model table = {PORTS_JSON, create, destroy, set, get, settle, find};
  return &table;
}
