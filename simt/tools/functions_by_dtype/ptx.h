// What the instructions of PTX compute, from NVIDIA's PTX ISA.  Included before the C that `ptx.py` makes.
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct { uint8_t b[2]; } B2;
typedef struct { uint8_t b[4]; } B4;
typedef struct { uint8_t b[8]; } B8;
typedef struct { uint8_t b[16]; } B16;

#define ARGUMENT(T, name, from, size) T name; memset(&name, 0, sizeof name); memcpy(&name, from, size);
#define VALUE(T, x) ((T)(x))
#define ISNAN(x) __builtin_isnan(x)
#define COPY(to, from) memcpy(&(to), &(from), sizeof(to))
static inline float F(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
static inline double D(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
static inline uint64_t bits_f(float x) { uint32_t b; memcpy(&b, &x, 4); return b; }
static inline uint64_t bits_d(double x) { uint64_t b; memcpy(&b, &x, 8); return b; }
static inline uint64_t bits_i(uint64_t x) { return x; }
#define BITS(x) _Generic((x), float: bits_f, double: bits_d, default: bits_i)(x)

// Rounding: rn to nearest, rz to zero, rm down, rp up.
#define ROUNDED(mode, e) ({ fesetround(mode); volatile __typeof__(e) v_ = (e); fesetround(FE_TONEAREST); v_; })
#define WITH_rn(e) (e)
#define WITH_rz(e) ROUNDED(FE_TOWARDZERO, e)
#define WITH_rm(e) ROUNDED(FE_DOWNWARD, e)
#define WITH_rp(e) ROUNDED(FE_UPWARD, e)
#define WITH(mode, e) WITH_##mode(e)
#define round_rni rint
#define round_rn rint
#define round_rzi trunc
#define round_rmi floor
#define round_rpi ceil

// What LLVM leaves open may come out either way; where the variants differ, nothing is compared.
int variant = 0;

// A float out of the range of an integer becomes its nearest; NaN becomes 0, but the highest bit where
// the source or the target has 64 bits.
// Numba converts to 8 and 16 bits through wider instructions, so there the rest is open, but for float16.
#define TO_INTEGER(name, T, LOW, HIGH, NOT_A_NUMBER, OPEN)           \
    static inline T TO_##name(double x) {                            \
        if (isnan(x)) return OPEN && variant ? 1 : NOT_A_NUMBER;     \
        if (OPEN && variant && (x < LOW || x > HIGH)) return 1;      \
        return x <= LOW ? (T)LOW : x >= HIGH ? (T)HIGH : (T)x;       \
    }
#define TO_INTEGERS(T, LOW, HIGH, BIT, kind, OPEN)   \
    TO_INTEGER(kind##_16, T, LOW, HIGH, 0, 0)        \
    TO_INTEGER(kind##_32, T, LOW, HIGH, 0, OPEN)     \
    TO_INTEGER(kind##_64, T, LOW, HIGH, BIT, OPEN)
TO_INTEGERS(int8_t, INT8_MIN, INT8_MAX, INT8_MIN, s8, 1)
TO_INTEGERS(int16_t, INT16_MIN, INT16_MAX, INT16_MIN, s16, 1)
TO_INTEGERS(int32_t, INT32_MIN, INT32_MAX, INT32_MIN, s32, 0)
TO_INTEGERS(uint8_t, 0, UINT8_MAX, 0x80, u8, 1)
TO_INTEGERS(uint16_t, 0, UINT16_MAX, 0x8000, u16, 1)
TO_INTEGERS(uint32_t, 0, UINT32_MAX, 0x80000000u, u32, 0)
static inline int64_t TO_s64_64(double x) {
    return isnan(x) || x <= -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (int64_t)x;
}
static inline uint64_t TO_u64_64(double x) {
    return isnan(x) ? 1ull << 63 : x <= 0 ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}
#define TO_s64_32 TO_s64_64
#define TO_s64_16 TO_s64_64
#define TO_u64_32 TO_u64_64
#define TO_u64_16 TO_u64_64

static inline double from_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                       : ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}
static inline uint16_t to_half(double x) {  // to nearest, of two the even one
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const double size = fabs(x);
    if (isnan(x)) return 0x7fff;
    if (size >= 65520) return sign | 0x7c00;
    if (size < 0x1p-14) return sign | (uint16_t)rint(size * 0x1p24);
    const int exponent = ilogb(size);
    return sign | (uint16_t)(((exponent + 14) << 10) + (int)rint(ldexp(size, 10 - exponent)));
}

// Integers: what dividing by zero gives is open; shifts past the width give 0, or the sign.
#define DIVISION(kind, T)                                                                      \
    static inline T div_##kind(T a, T b) { return b == 0 ? (T)~(uint64_t)variant : (T)-1 < 0 && b == (T)-1 ? (T)(0 - (uint64_t)a) : a / b; } \
    static inline T rem_##kind(T a, T b) { return b == 0 ? (T)(a + variant) : (T)-1 < 0 && b == (T)-1 ? 0 : a % b; }
DIVISION(s16, int16_t) DIVISION(s32, int32_t) DIVISION(s64, int64_t)
DIVISION(u16, uint16_t) DIVISION(u32, uint32_t) DIVISION(u64, uint64_t)
#define SHIFTS(bits)                                                                                             \
    static inline uint##bits##_t shl_b##bits(uint##bits##_t a, uint32_t n) { return n < bits ? (uint##bits##_t)((uint64_t)a << n) : 0; } \
    static inline uint##bits##_t shr_u##bits(uint##bits##_t a, uint32_t n) { return n < bits ? a >> n : 0; }       \
    static inline int##bits##_t shr_s##bits(int##bits##_t a, uint32_t n) { return a >> (n < bits ? n : bits - 1); }
SHIFTS(16) SHIFTS(32) SHIFTS(64)
#define shr_b16 shr_u16
#define shr_b32 shr_u32
#define shr_b64 shr_u64
#define min_i(a, b) ((a) < (b) ? (a) : (b))
#define max_i(a, b) ((a) > (b) ? (a) : (b))
static inline uint32_t popc_b32(uint32_t a) { return __builtin_popcount(a); }
static inline uint32_t popc_b64(uint64_t a) { return __builtin_popcountll(a); }
static inline uint32_t clz_b32(uint32_t a) { return a ? __builtin_clz(a) : 32; }
static inline uint32_t clz_b64(uint64_t a) { return a ? __builtin_clzll(a) : 64; }
static inline uint64_t reversed(uint64_t a, int width) {
    uint64_t r = 0;
    for (int i = 0; i < width; i++, a >>= 1) r = r << 1 | (a & 1);
    return r;
}
#define brev_b32(a) ((uint32_t)reversed(a, 32))
#define brev_b64(a) reversed(a, 64)
#define bfind_u32(a) ((a) ? clz_b32(a) : UINT32_MAX)  // .shiftamt: how far to shift the highest bit up
static inline uint64_t bfi_b64(uint64_t a, uint64_t b, uint64_t at, uint64_t count) {
    at &= 255, count &= 255;
    const uint64_t ones = count >= 64 ? ~0ull : (1ull << count) - 1;
    return at >= 64 ? b : (b & ~(ones << at)) | (a & ones) << at;
}
static inline uint32_t prmt_b32(uint32_t a, uint32_t b, uint32_t choose) {
    const uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) {
        const uint32_t pick = choose >> 4 * i & 15;
        const uint8_t byte = bytes >> 8 * (pick & 7);
        r |= (uint32_t)(pick & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * i;
    }
    return r;
}
#define sad_s32(a, b, c) ((c) + ((int64_t)(a) < (b) ? (int64_t)(b) - (a) : (int64_t)(a) - (b)))
#define sad_u32(a, b, c) ((c) + ((a) < (b) ? (b) - (a) : (a) - (b)))

// Of NaN and a number the number; -0 is less than 0.
#define min_f(a, b) (isnan(a) ? (b) : isnan(b) ? (a) : (a) == (b) ? (signbit(a) ? (a) : (b)) : (a) < (b) ? (a) : (b))
#define max_f(a, b) (isnan(a) ? (b) : isnan(b) ? (a) : (a) == (b) ? (signbit(a) ? (b) : (a)) : (a) > (b) ? (a) : (b))
#define flush(x) (fabs(x) < 0x1p-126 ? copysign(0.0f, x) : (x))  // of float32
#define saturate(x) (!((x) > 0) ? 0 : (x) > 1 ? 1 : (x))
#define SQRT(x) _Generic((x), float: sqrtf, default: sqrt)(x)
#define approx_rsqrt(x) (1 / sqrt((double)(x)))
#define approx_ex2(x) exp2((double)(x))
#define approx_lg2(x) log2((double)(x))
#define approx_sin(x) sin((double)(x))
#define approx_cos(x) cos((double)(x))
#define approx_tanh(x) tanh((double)(x))

// CUDA's own functions of half precision: computed in higher precision and rounded once.
#define HALF_1(symbol, value)                                                    \
    static uint32_t symbol(uint64_t to, uint64_t p) {                            \
        const double x = from_half(*(uint16_t *)p);                              \
        *(uint16_t *)to = to_half(value);                                        \
        return 0;                                                                \
    }
#define HALF_2(symbol, T, value)                                                 \
    static uint32_t symbol(uint64_t to, uint64_t p, uint64_t q) {                \
        const double x = from_half(*(uint16_t *)p), y = from_half(*(uint16_t *)q); \
        *(T *)to = value;                                                        \
        return 0;                                                                \
    }
#define HALF_IN_PLACE(symbol, value)                                             \
    static uint32_t symbol(uint64_t to, uint64_t p, uint64_t q) {                \
        const double x = from_half(*(uint16_t *)p), y = from_half(*(uint16_t *)q); \
        *(uint16_t *)p = *(uint16_t *)to = to_half(value);                       \
        return 0;                                                                \
    }
HALF_1(_ZL4hsin6__half_nbst, sin(x)) HALF_1(_ZL4hcos6__half_nbst, cos(x)) HALF_1(_ZL5htanh6__half_nbst, tanh(x))
HALF_1(_ZL4hexp6__half_nbst, exp(x)) HALF_1(_ZL5hexp26__half_nbst, exp2(x)) HALF_1(_ZL6hexp106__half_nbst, pow(10, x))
HALF_1(_ZL4hlog6__half_nbst, log(x)) HALF_1(_ZL5hlog26__half_nbst, log2(x)) HALF_1(_ZL6hlog106__half_nbst, log10(x))
HALF_1(_ZL5hsqrt6__half_nbst, sqrt(x)) HALF_1(_ZL6hrsqrt6__half_nbst, 1 / sqrt(x)) HALF_1(_ZL4hrcp6__half_nbst, 1 / x)
HALF_1(_ZL5hceil6__half_nbst, ceil(x)) HALF_1(_ZL6hfloor6__half_nbst, floor(x)) HALF_1(_ZL5hrint6__half_nbst, rint(x))
HALF_1(_ZL6htrunc6__half_nbst, trunc(x)) HALF_1(_ZL6__habs6__half_nbst, fabs(x)) HALF_1(_ZL6__hneg6__half_nbst, -x)
HALF_1(_ZngRK6__half_nbst, -x) HALF_1(_ZpsRK6__half_nbst, x)
HALF_2(_ZL6__hadd6__halfS__nbst, uint16_t, to_half(x + y)) HALF_2(_ZplRK6__halfS1__nbst, uint16_t, to_half(x + y))
HALF_2(_ZL6__hsub6__halfS__nbst, uint16_t, to_half(x - y)) HALF_2(_ZmiRK6__halfS1__nbst, uint16_t, to_half(x - y))
HALF_2(_ZL6__hmul6__halfS__nbst, uint16_t, to_half(x * y)) HALF_2(_ZmlRK6__halfS1__nbst, uint16_t, to_half(x * y))
HALF_2(_ZL6__hdiv6__halfS__nbst, uint16_t, to_half(x / y)) HALF_2(_ZdvRK6__halfS1__nbst, uint16_t, to_half(x / y))
HALF_2(_ZL6__hmax6__halfS__nbst, uint16_t, to_half(max_f(x, y))) HALF_2(_ZL6__hmin6__halfS__nbst, uint16_t, to_half(min_f(x, y)))
HALF_IN_PLACE(_ZpLR6__halfRKS__nbst, x + y) HALF_IN_PLACE(_ZmLR6__halfRKS__nbst, x * y)
HALF_IN_PLACE(_ZmIR6__halfRKS__nbst, x - y) HALF_IN_PLACE(_ZdVR6__halfRKS__nbst, x / y)
HALF_2(_ZL5__heq6__halfS__nbst, uint8_t, x == y) HALF_2(_ZeqRK6__halfS1__nbst, uint8_t, x == y)
HALF_2(_ZL5__hne6__halfS__nbst, uint8_t, x < y || x > y) HALF_2(_ZneRK6__halfS1__nbst, uint8_t, x != y)
HALF_2(_ZL5__hlt6__halfS__nbst, uint8_t, x < y) HALF_2(_ZltRK6__halfS1__nbst, uint8_t, x < y)
HALF_2(_ZL5__hle6__halfS__nbst, uint8_t, x <= y) HALF_2(_ZleRK6__halfS1__nbst, uint8_t, x <= y)
HALF_2(_ZL5__hgt6__halfS__nbst, uint8_t, x > y) HALF_2(_ZgtRK6__halfS1__nbst, uint8_t, x > y)
HALF_2(_ZL5__hge6__halfS__nbst, uint8_t, x >= y) HALF_2(_ZgeRK6__halfS1__nbst, uint8_t, x >= y)
static uint32_t _ZL6__hfma6__halfS_S__nbst(uint64_t to, uint64_t p, uint64_t q, uint64_t r) {
    const double x = from_half(*(uint16_t *)p), y = from_half(*(uint16_t *)q);
    *(uint16_t *)to = to_half(fma(x, y, from_half(*(uint16_t *)r)));
    return 0;
}
