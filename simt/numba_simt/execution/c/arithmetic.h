// Arithmetic on registers: 32 lanes at a time, whatever the mask; only named variables, memory and
// control flow look at the mask.

#pragma once

#include "functions.h"
#include "half.h"
#include "lanes.h"
#include "machine.h"

// One of the cases by the instruction's type; any other type is an error of the front end.
#define BY_TYPE(CASES) \
    switch (type) { CASES default: internal_error(); }
#define INTEGERS(EXPR)                             \
    CASE(T_I64, BINARY(int64_t, int64_t, EXPR))    \
    CASE(T_U64, BINARY(uint64_t, uint64_t, EXPR))
#define FLOATS(EXPR)                                   \
    CASE(T_F16, BINARY(float, float, to_half(EXPR)))   \
    CASE(T_F32, BINARY(float, float, EXPR))            \
    CASE(T_F64, BINARY(double, double, EXPR))
#define DIVISIONS(name)                                              \
    CASE(T_F16, BINARY(float, float, to_half(name##_f32(a, b))))    \
    CASE(T_F32, BINARY(float, float, name##_f32(a, b)))             \
    CASE(T_F64, BINARY(double, double, name##_f64(a, b)))
#define COMPLEXES(EXPR)                  \
    CASE(T_C64, BINARY(c64, c64, EXPR))  \
    CASE(T_C128, BINARY(c128, c128, EXPR))
#define COMPARE(EXPR)                              \
    CASE(T_I64, BINARY(int64_t, int64_t, EXPR))    \
    CASE(T_U64, BINARY(int64_t, uint64_t, EXPR))   \
    case T_F16: CASE(T_F32, BINARY(int64_t, float, EXPR)) \
    CASE(T_F64, BINARY(int64_t, double, EXPR))
#define COMPARE_COMPLEX(EXPR)                 \
    CASE(T_C64, BINARY(int64_t, c64, EXPR))   \
    CASE(T_C128, BINARY(int64_t, c128, EXPR))

static int64_t floor_div(int64_t a, int64_t b) {
    if (b == -1) return a == INT64_MIN ? 0 : -a; // what does not fit is 0 in Numba
    int64_t q = a / b;
    return q - (a % b && (a < 0) != (b < 0));
}
static int64_t floor_mod(int64_t a, int64_t b) {
    if (b == -1) return 0;
    int64_t r = a % b;
    return r && (r < 0) != (b < 0) ? r + b : r;
}
// % and // of floats, by the remainder that NVVM makes of the quotient: inexact where that is large, and
// NaN for an infinite divisor. Then Numba's own steps.
#define FLOAT_DIVISION(T, name, FABS, FLOOR, COPYSIGN)                              \
    static T remainder_##name(T x, T y) {                                           \
        const T r = isinf(y) ? NAN : FABS(x) - FLOOR(FABS(x) / FABS(y)) * FABS(y);  \
        return x < 0 ? -r : r;                                                      \
    }                                                                               \
    static T mod_##name(T x, T y) {                                                 \
        const T r = remainder_##name(x, y);                                         \
        if (y == 0) return r;                                                       \
        return r == 0 ? COPYSIGN(0, y) : (y < 0) != (r < 0) ? r + y : r;            \
    }                                                                               \
    static T floor_div_##name(T x, T y) {                                           \
        if (y == 0) return x / y;                                                   \
        const T r = remainder_##name(x, y);                                         \
        T d = (x - r) / y;                                                          \
        if (r != 0 && (y < 0) != (r < 0)) d -= 1;                                   \
        if (d == 0 || isnan(d)) return d * d * x / y;                               \
        const T whole = FLOOR(d);                                                   \
        return d - whole > (T)0.5 ? whole + 1 : whole;                              \
    }
FLOAT_DIVISION(float, f32, fabsf, floorf, copysignf)
FLOAT_DIVISION(double, f64, fabs, floor, copysign)

// Complex numbers as Numba and Python compute them: C's own operators treat infinities in other ways.
#define COMPLEX_ARITHMETIC(T, R, name, RE, IM, MAKE, ABS)                                      \
    static T times_##name(T a, T b) {                                                          \
        return MAKE(RE(a) * RE(b) - IM(a) * IM(b), RE(a) * IM(b) + IM(a) * RE(b));             \
    }                                                                                          \
    static T over_##name(T a, T b) { /* divides by the larger part of b first */               \
        if (ABS(RE(b)) >= ABS(IM(b))) {                                                        \
            const R ratio = IM(b) / RE(b), size = RE(b) + IM(b) * ratio;                       \
            return MAKE((RE(a) + IM(a) * ratio) / size, (IM(a) - RE(a) * ratio) / size);       \
        }                                                                                      \
        const R ratio = RE(b) / IM(b), size = RE(b) * ratio + IM(b);                           \
        return MAKE((RE(a) * ratio + IM(a)) / size, (IM(a) * ratio - RE(a)) / size);           \
    }
COMPLEX_ARITHMETIC(c64, float, c64, crealf, cimagf, CMPLXF, fabsf)
COMPLEX_ARITHMETIC(c128, double, c128, creal, cimag, CMPLX, fabs)

// Conversions: CVT from the instruction's type to the one in the operand `to`.
#define TO(INTEGERS)                                              \
    switch (o[CVT_to]) {                                          \
        INTEGERS                                                  \
        CASE(T_F16, UNARY(float, FROM, to_half((float)a)))        \
        CASE(T_F32, UNARY(float, FROM, (float)a))                 \
        CASE(T_F64, UNARY(double, FROM, (double)a))               \
        CASE(T_C64, UNARY(c64, FROM, (c64)a))                     \
        CASE(T_C128, UNARY(c128, FROM, (c128)a))                  \
        default: internal_error();                                \
    }
#define TO_INTEGERS                                   \
    CASE(T_I64, UNARY(int64_t, FROM, (int64_t)a))     \
    CASE(T_U64, UNARY(uint64_t, FROM, (uint64_t)a))
static void convert(Warp *w, int type, const int32_t *o) {
    switch (type) {
#define FROM int64_t
        case T_I64: TO(TO_INTEGERS) break;
#undef FROM
#define FROM uint64_t
        case T_U64: TO(TO_INTEGERS) break;
#undef FROM
#define FROM float
        case T_F16:
        case T_F32: TO() break;
#undef FROM
#define FROM double
        case T_F64: TO() break;
#undef FROM
        case T_C64:
            if (o[CVT_to] != T_C128) internal_error();
            UNARY(c128, c64, (c128)a);
            break;
        case T_C128:
            if (o[CVT_to] != T_C64) internal_error();
            UNARY(c64, c128, (c64)a);
            break;
        default: internal_error();
    }
}

// A float as an integer of the width in memory, as PTX's cvt: towards zero, saturating at 32 and 64
// bits; of float16 to the nearest, saturating at every width. NaN is 0 or the integer with the
// highest bit alone; to 8 and 16 bits the lowest bits of the int64 remain.
#define TRUNCATE(T, ROUND, NAN32)                                                          \
    switch (o[TRUNCATE_to]) {                                                              \
        CASE(M_b1, UNARY(int64_t, T, a != 0))                                              \
        CASE(M_i32, UNARY(int64_t, T, within(ROUND(a), INT32_MIN, INT32_MAX, NAN32)))      \
        CASE(M_u32, UNARY(int64_t, T, within(ROUND(a), 0, UINT32_MAX, -(int64_t)(NAN32)))) \
        CASE(M_i64, UNARY(int64_t, T, saturate(ROUND(a))))                                 \
        CASE(M_u64, UNARY(uint64_t, T, saturate_unsigned(ROUND(a))))                       \
        NARROWER(T)                                                                        \
        default: internal_error();                                                         \
    }
static int64_t within(double x, int64_t least, int64_t most, int64_t nan) {
    return isnan(x) ? nan : x <= least ? least : x >= most ? most : (int64_t)x;
}
static void truncate_(Warp *w, int type, const int32_t *o) {
    switch (type) {
#define NARROWER(T)                                                       \
    CASE(M_i8, UNARY(int64_t, T, within(rint(a), INT8_MIN, INT8_MAX, 0)))    \
    CASE(M_u8, UNARY(int64_t, T, within(rint(a), 0, UINT8_MAX, 0)))          \
    CASE(M_i16, UNARY(int64_t, T, within(rint(a), INT16_MIN, INT16_MAX, 0))) \
    CASE(M_u16, UNARY(int64_t, T, within(rint(a), 0, UINT16_MAX, 0)))
        case T_F16: TRUNCATE(float, rint, 0) break;
#undef NARROWER
#define NARROWER(T)                                          \
    CASE(M_i8, UNARY(int64_t, T, (int8_t)saturate(a)))       \
    CASE(M_u8, UNARY(int64_t, T, (uint8_t)saturate(a)))      \
    CASE(M_i16, UNARY(int64_t, T, (int16_t)saturate(a)))     \
    CASE(M_u16, UNARY(int64_t, T, (uint16_t)saturate(a)))
        case T_F32: TRUNCATE(float, ITSELF, 0) break;
        case T_F64: TRUNCATE(double, ITSELF, INT32_MIN) break;
#undef NARROWER
        default: internal_error();
    }
}

// An integer cut to the width that it has in memory.
static void narrow(Warp *w, const int32_t *o) {
    switch (o[NARROW_to]) {
        CASE(M_b1, UNARY(int64_t, int64_t, a != 0))
        CASE(M_i8, UNARY(int64_t, int64_t, (int8_t)a))
        CASE(M_i16, UNARY(int64_t, int64_t, (int16_t)a))
        CASE(M_i32, UNARY(int64_t, int64_t, (int32_t)a))
        CASE(M_u8, UNARY(int64_t, int64_t, (uint8_t)a))
        CASE(M_u16, UNARY(int64_t, int64_t, (uint16_t)a))
        CASE(M_u32, UNARY(int64_t, int64_t, (uint32_t)a))
        default: internal_error();
    }
}

static int64_t bit_reverse(uint64_t x, int width) {
    uint64_t r = 0;
    for (int i = 0; i < width; i++, x >>= 1) r = r << 1 | (x & 1);
    return (int64_t)r;
}
static void bits(Warp *w, int op, const int32_t *o) {
    const int width = o[POPC_width];
    const uint64_t keep = width == 64 ? ~0ull : (1ull << width) - 1;
    switch (op) {
        CASE(OP_POPC, UNARY(int64_t, uint64_t, __builtin_popcountll(a & keep)))
        CASE(OP_CLZ,
             UNARY(int64_t, uint64_t, (a & keep) ? __builtin_clzll(a & keep) - (64 - width) : width))
        CASE(OP_BREV, UNARY(int64_t, uint64_t, bit_reverse(a, width)))
        CASE(OP_FFS, UNARY(int64_t, uint64_t, (a & keep) ? __builtin_ctzll(a & keep) + 1 : 0))
        default: internal_error();
    }
}

// A value of `size` bytes in every lane that `mask` names.
#define MOVE(T)                                                    \
    do {                                                           \
        T *d = (T *)reg(w, o[0]);                                  \
        if (o[0] < 0)                                              \
            *d = *(T *)reg(w, o[1]);                               \
        else {                                                     \
            SPREAD(T, x, o[1]) if (mask == ALL) LANES d[l] = x[l]; \
            else LANES d[l] = mask >> l & 1 ? x[l] : d[l];         \
        }                                                          \
    } while (0)
static inline void move(Warp *w, int type, const int32_t *o, uint32_t mask) {
    switch (type) {
        case T_F16: CASE(T_F32, MOVE(int32_t))
        CASE(T_C128, MOVE(c128))
        case T_I64:
        case T_U64:
        case T_F64: CASE(T_C64, MOVE(int64_t))
        default: internal_error();
    }
}
#define PICK(T)                                                                             \
    do {                                                                                    \
        T *d = (T *)reg(w, o[0]);                                                           \
        if (o[0] < 0) {                                                                     \
            const int64_t test = *(int64_t *)reg(w, o[SELECT_test]);                        \
            *d = *(T *)reg(w, o[test ? SELECT_a : SELECT_b]);                               \
        } else {                                                                            \
            SPREAD(int64_t, p, o[SELECT_test])                                              \
            SPREAD(T, x, o[SELECT_a]) SPREAD(T, y, o[SELECT_b]) LANES d[l] = p[l] ? x[l] : y[l]; \
        }                                                                                   \
    } while (0)
static inline void select_(Warp *w, int type, const int32_t *o) {
    switch (type) {
        case T_F16: CASE(T_F32, PICK(int32_t))
        CASE(T_C128, PICK(c128))
        case T_I64:
        case T_U64:
        case T_F64: CASE(T_C64, PICK(int64_t))
        default: internal_error();
    }
}

// The first active lane whose divisor is zero, or -1.
#define FIRST_ZERO(T)                                                               \
    do {                                                                            \
        const T *b = (const T *)reg(w, r);                                          \
        if (r < 0) return *b == 0 ? __builtin_ctz(w->mask) : -1;                    \
        ACTIVE (w->mask)                                                            \
            if (b[l] == 0) return l;                                                \
        return -1;                                                                  \
    } while (0)
static int zero_divisor(const Warp *w, int type, int32_t r) {
    switch (type) {
        case T_I64: CASE(T_U64, FIRST_ZERO(int64_t))
        case T_F16: CASE(T_F32, FIRST_ZERO(float))
        CASE(T_F64, FIRST_ZERO(double))
        CASE(T_C64, FIRST_ZERO(c64))
        CASE(T_C128, FIRST_ZERO(c128))
        default: internal_error();
    }
}

static void negate(Warp *w, int type, const int32_t *o) {
    switch (type) {
        case T_I64: CASE(T_U64, UNARY(int64_t, int64_t, -a))
        case T_F16: CASE(T_F32, UNARY(float, float, -a))
        CASE(T_F64, UNARY(double, double, -a))
        CASE(T_C64, UNARY(c64, c64, -a))
        CASE(T_C128, UNARY(c128, c128, -a))
        default: internal_error();
    }
}
static void absolute(Warp *w, int type, const int32_t *o) {
    switch (type) {
        CASE(T_I64, UNARY(int64_t, int64_t, a < 0 ? -a : a))
        CASE(T_U64, UNARY(uint64_t, uint64_t, a))
        case T_F16: CASE(T_F32, UNARY(float, float, fabsf(a)))
        CASE(T_F64, UNARY(double, double, fabs(a)))
        CASE(T_C64, UNARY(float, c64, cabsf(a)))
        CASE(T_C128, UNARY(double, c128, cabs(a)))
        default: internal_error();
    }
}
// Of NaN and a number these two give the number; `own_minimum` and `own_maximum` give NaN.
#define LESSER b < a || a != a || (b == a && signbit(b)) ? b : a
#define GREATER b > a || a != a || (b == a && signbit(a)) ? b : a

static inline void arithmetic(Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    const int type = in->type;
    switch (in->op) {
        case OP_ADD: BY_TYPE(INTEGERS(a + b) FLOATS(a + b) COMPLEXES(a + b)) break;
        case OP_SUB: BY_TYPE(INTEGERS(a - b) FLOATS(a - b) COMPLEXES(a - b)) break;
        case OP_MUL:
            BY_TYPE(INTEGERS(a * b) FLOATS(a * b) CASE(T_C64, BINARY(c64, c64, times_c64(a, b)))
                        CASE(T_C128, BINARY(c128, c128, times_c128(a, b))))
            break;
        case OP_DIV:
            BY_TYPE(FLOATS(a / b) CASE(T_C64, BINARY(c64, c64, over_c64(a, b)))
                        CASE(T_C128, BINARY(c128, c128, over_c128(a, b))))
            break;
        case OP_FLOORDIV:
            BY_TYPE(CASE(T_I64, BINARY(int64_t, int64_t, b ? floor_div(a, b) : 0))
                        CASE(T_U64, BINARY(uint64_t, uint64_t, b ? a / b : 0)) DIVISIONS(floor_div))
            break;
        case OP_MOD:
            BY_TYPE(CASE(T_I64, BINARY(int64_t, int64_t, b ? floor_mod(a, b) : 0))
                        CASE(T_U64, BINARY(uint64_t, uint64_t, b ? a % b : 0)) DIVISIONS(mod))
            break;
        case OP_POW: power(w, type, o); break;
        case OP_NEG: negate(w, type, o); break;
        case OP_ABS: absolute(w, type, o); break;
        case OP_FMA:
            BY_TYPE(CASE(T_F16, TERNARY(float, float, to_half((float)((double)a * b + c))))
                        CASE(T_F32, TERNARY(float, float, fmaf(a, b, c)))
                            CASE(T_F64, TERNARY(double, double, fma(a, b, c))))
            break;
        case OP_MIN: BY_TYPE(INTEGERS(b < a ? b : a) FLOATS(LESSER)) break;
        case OP_MAX: BY_TYPE(INTEGERS(b > a ? b : a) FLOATS(GREATER)) break;
        CASE(OP_AND, BINARY(int64_t, int64_t, a &b))
        CASE(OP_OR, BINARY(int64_t, int64_t, a | b))
        CASE(OP_XOR, BINARY(int64_t, int64_t, a ^ b))
        CASE(OP_NOT, UNARY(int64_t, int64_t, ~a))
        CASE(OP_SHL, BINARY(uint64_t, uint64_t, b < 64 ? a << b : 0))
        case OP_SHR:
            BY_TYPE(CASE(T_U64, BINARY(uint64_t, uint64_t, b < 64 ? a >> b : 0))
                        CASE(T_I64, BINARY(int64_t, int64_t, a >> ((uint64_t)b < 64 ? b : 63))))
            break;
        case OP_LT: BY_TYPE(COMPARE(a < b)) break;
        case OP_LE: BY_TYPE(COMPARE(a <= b)) break;
        case OP_EQ: BY_TYPE(COMPARE(a == b) COMPARE_COMPLEX(a == b)) break;
        case OP_NE: BY_TYPE(COMPARE(a != b) COMPARE_COMPLEX(a != b)) break;
        case OP_SELECT: select_(w, type, o); break;
        case OP_MOV: move(w, type, o, w->mask); break;
        case OP_COPY: move(w, type, o, ALL); break;
        case OP_CVT: convert(w, type, o); break;
        case OP_TRUNCATE: truncate_(w, type, o); break;
        case OP_NARROW: narrow(w, o); break;
        case OP_MATH: math(w, type, o); break;
        case OP_MATH2: math2(w, type, o); break;
        case OP_POWI:
        case OP_LDEXP: with_integer(w, in->op, type, o); break;
        case OP_CLASSIFY: classify(w, type, o); break;
        case OP_POPC:
        case OP_CLZ:
        case OP_BREV:
        case OP_FFS: bits(w, in->op, o); break;
        case OP_REAL:
            BY_TYPE(CASE(T_C64, UNARY(float, c64, crealf(a))) CASE(T_C128, UNARY(double, c128, creal(a))))
            break;
        case OP_IMAG:
            BY_TYPE(CASE(T_C64, UNARY(float, c64, cimagf(a))) CASE(T_C128, UNARY(double, c128, cimag(a))))
            break;
        case OP_COMPLEX:
            BY_TYPE(CASE(T_C64, BINARY(c64, float, CMPLXF(a, b))) CASE(T_C128, BINARY(c128, double, CMPLX(a, b))))
            break;
        default: internal_error();
    }
}
