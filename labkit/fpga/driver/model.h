// What a compiled design is to whoever clocks it: a table of functions in plain C.
//
// Both engines fill in this table (cxxrtl_model.cpp, verilated_model.cpp), so a driver knows
// neither of them. Ports are counted as the module declares them; a value is an array of 32-bit
// words, the lowest first, with zeros above the port's width.

#pragma once
#include <cstdint>

struct Model {
  const char* ports;  // JSON: [[name, is input, width, is signed], ...]
  void* (*create)();
  void (*destroy)(void* design);
  void (*set)(void* design, int port, const uint32_t* value);
  void (*get)(void* design, int port, uint32_t* value);
  int (*settle)(void* design);  // 1 when all signals have settled, 0 when they oscillate
  // A signal inside, by its name: a further number for `get`, and its width; -1 if there is none.
  int (*find)(void* design, const char* name, int* width);
};

extern "C" __attribute__((visibility("default"))) const Model* model();
