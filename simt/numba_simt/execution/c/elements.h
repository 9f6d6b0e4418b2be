// How the elements of arrays lie in memory, and become values in registers.

#pragma once

#include "half.h"
#include "machine.h"

// Calls X(memory type, C type in memory, C type in the register, to register, to memory).
#define EACH_TYPE(X)                                                                                         \
    X(M_b1, uint8_t, int64_t, v != 0, v != 0)                                                                \
    X(M_i8, int8_t, int64_t, v, (int8_t)v) X(M_i16, int16_t, int64_t, v, (int16_t)v)                         \
        X(M_i32, int32_t, int64_t, v, (int32_t)v) X(M_i64, int64_t, int64_t, v, v)                           \
            X(M_u8, uint8_t, int64_t, v, (uint8_t)v) X(M_u16, uint16_t, int64_t, v, (uint16_t)v)             \
                X(M_u32, uint32_t, int64_t, v, (uint32_t)v) X(M_u64, uint64_t, uint64_t, v, v)               \
                    X(M_f16, uint16_t, float, half_to_float(v), float_to_half(v))                            \
                        X(M_f32, float, float, v, v) X(M_f64, double, double, v, v) X(M_c64, c64, c64, v, v) \
                            X(M_c128, c128, c128, v, v)

#define ELEMENT_SIZE(a) memory_size[(a)->memory_type]
// A complex number is read in two halves, each of which is aligned.
#define ALIGNMENT(a) (ELEMENT_SIZE(a) >> ((a)->memory_type == M_c64 || (a)->memory_type == M_c128))
// Local memory is interleaved: the 32 lanes' copies of an element lie side by side.
#define WHERE(M, l) ((M *)(first + (local ? at[l] * WARP + (l) * (int)sizeof(M) : at[l])))
