// Half precision: kept in registers as a float32, in memory as 16 bits.

#pragma once

#include "machine.h"

static inline float to_half(float x) { // round to the nearest half, ties to even
    union {
        float f;
        uint32_t u;
    } v = {x}, magic;
    uint32_t sign = v.u & 0x80000000u;
    v.u ^= sign;
    if (v.u > 0x7f800000u) return x; // NaN
    if (v.f >= 65520.0f)
        v.u = 0x7f800000u;        // rounds to infinity
    else if (v.u < 0x38800000u) { // subnormal half: a multiple of 2^-24
        magic.f = 0.5f;
        v.f = (v.f + magic.f) - magic.f;
    } else
        v.u = (v.u + 0xfffu + ((v.u >> 13) & 1)) & ~0x1fffu;
    v.u |= sign;
    return v.f;
}

static float half_to_float(uint16_t h) {
    union {
        uint32_t u;
        float f;
    } v = {(uint32_t)(h & 0x7fff) << 13};
    v.f *= 0x1p112f;                       // the exponent's other bias; right for subnormals too
    if (v.f >= 65536) v.u |= 0x7f800000u;  // infinity and NaN
    v.u |= (uint32_t)(h >> 15) << 31;
    return v.f;
}
static uint16_t float_to_half(float x) {
    const float r = to_half(x), size = fabsf(r);
    const uint16_t sign = signbit(r) ? 0x8000 : 0;
    if (isnan(r)) return sign | 0x7e00;
    if (isinf(r)) return sign | 0x7c00;
    if (size < 6.103515625e-05f) return sign | (uint16_t)(size * 16777216.0f);
    int exponent;
    const float m = frexpf(size, &exponent);
    return sign | (uint16_t)((exponent + 14) << 10) | ((uint16_t)(m * 2048) & 1023);
}
