// Sign extension for what Verilator writes: two shifts, which compilers know as one instruction.
//
// Verilator 5 takes a mask, a negation and an or. In a design full of products of small signed
// numbers these cost more than the products: with shifts the accelerator runs a third faster.
// Included before everything that Verilator wrote; its own functions keep existing, with names
// that end in `_masked`. Tested by tests/fpga/circuits/test_sign_extension.py.

#pragma once

#define VL_EXTENDS_II VL_EXTENDS_II_masked
#define VL_MULS_III VL_MULS_III_masked
#include "verilated.h"
#undef VL_EXTENDS_II
#undef VL_MULS_III

// The low `bits` of `value` as a signed number.
inline IData VL_EXTENDS_II(int, int bits, IData value) {
  int unused = 32 - bits;
  return static_cast<IData>(static_cast<int32_t>(value << unused) >> unused);
}

inline IData VL_MULS_III(int bits, IData left, IData right) {
  return VL_EXTENDS_II(32, bits, left) * VL_EXTENDS_II(32, bits, right);
}
