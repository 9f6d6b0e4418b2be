// Functions of C's math library, and our own where C has none. ops.py lists them, with their types.

#pragma once

#include "half.h"
#include "lanes.h"
#include "machine.h"

static inline int64_t saturate(double x) { // float -> int truncates and saturates, as cvt.rzi does
    if (isnan(x)) return INT64_MIN;
    return x >= 9223372036854775807.0 ? INT64_MAX : x <= -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}
static inline uint64_t saturate_unsigned(double x) {
    if (isnan(x)) return 1ull << 63;
    if (x <= 0) return 0;
    return x >= 18446744073709551615.0 ? UINT64_MAX : (uint64_t)x;
}

static double own_exp10(double x) { return pow(10, x); }
static float own_exp10f(float x) { return (float)pow(10, x); }
static double own_rsqrt(double x) { return 1 / sqrt(x); }
static float own_rsqrtf(float x) { return (float)(1 / sqrt(x)); }
static double own_rcbrt(double x) { return 1 / cbrt(x); }
static float own_rcbrtf(float x) { return (float)(1 / cbrt(x)); }
static double own_sinpi(double x) { // exact where it is 0
    const double r = fmod(x, 2);
    if (r == trunc(r)) return copysign(0, x);
    return fabs(r) == 0.5 || fabs(r) == 1.5 ? rint(sin(M_PI * r)) : sin(M_PI * r);
}
static float own_sinpif(float x) { return (float)own_sinpi(x); }
static double own_cospi(double x) {
    const double r = fabs(fmod(x, 2));
    return r == 0.5 || r == 1.5 ? 0 : cos(M_PI * r);
}
static float own_cospif(float x) { return (float)own_cospi(x); }
static double own_mantissa(double x) { // frexp's first half
    int exponent;
    return frexp(x, &exponent);
}
static float own_mantissaf(float x) { return (float)own_mantissa(x); }
static double own_exponent(double x) { // frexp's second half
    int exponent = 0;
    if (isfinite(x)) frexp(x, &exponent);
    return exponent;
}
static float own_exponentf(float x) { return (float)own_exponent(x); }
static double own_fraction(double x) { // modf's first half
    double whole;
    return modf(x, &whole);
}
static float own_fractionf(float x) { return (float)own_fraction(x); }
static double own_fast_pow(double x, double y) { return exp2(y * log2(x)); }
static float own_fast_powf(float x, float y) { return exp2f(y * log2f(x)); }
// NumPy's: of NaN and a number the NaN, or the number (fmax, fmin); of two zeros the first.
#define EXTREMES(T, f)                                                                             \
    static T own_maximum##f(T a, T b) { return isnan(a) || a >= b ? a : b; }                       \
    static T own_minimum##f(T a, T b) { return isnan(a) || a <= b ? a : b; }                       \
    static T own_fmax##f(T a, T b) { return isnan(b) || a >= b ? a : b; }                          \
    static T own_fmin##f(T a, T b) { return isnan(b) || a <= b ? a : b; }
EXTREMES(double, )
EXTREMES(float, f)

// exp by its definition, as Numba has it; C's where the real part is not finite, but for its signs of 0.
static c128 own_cexp(c128 z) {
    if (creal(z) == -INFINITY && !isfinite(cimag(z))) return 0;
    if (!isfinite(creal(z))) return cexp(z);
    const double size = exp(creal(z));
    return CMPLX(size * cos(cimag(z)), size * sin(cimag(z)));
}
static c64 own_cexpf(c64 z) {
    if (!isfinite(crealf(z))) return (c64)own_cexp(z);
    const float size = expf(crealf(z));
    return CMPLXF(size * cosf(cimagf(z)), size * sinf(cimagf(z)));
}
// From the largest number / (1 + sqrt 2) on, Numba scales and does not scale the imaginary part back.
static c128 square_root(c128 z, double largest) {
    const c128 root = csqrt(z);
    const double size = fmax(fabs(creal(z)), fabs(cimag(z)));
    const int scaled = isfinite(size) && size >= largest / (1 + M_SQRT2);
    return scaled ? CMPLX(creal(root), cimag(root) / 2) : root;
}
static c128 own_csqrt(c128 z) { return square_root(z, DBL_MAX); }
static c64 own_csqrtf(c64 z) { return (c64)square_root(z, FLT_MAX); }
#define cexp own_cexp // in the table
#define csqrt own_csqrt

static float (*const math_f32[])(float) = {MATH_F32};
static double (*const math_f64[])(double) = {MATH_F64};
static c128 (*const math_c128[])(c128) = {MATH_C128};
static float (*const math2_f32[])(float, float) = {MATH2_F32};
static double (*const math2_f64[])(double, double) = {MATH2_F64};

// The function of that number in a table; the front end gives none that the table has not.
#define FUNCTION(table, number)                                             \
    ((size_t)(number) < sizeof table / sizeof *table && table[number] ? table[number] \
                                                                      : (internal_error(), table[0]))

static void math(Warp *w, int type, const int32_t *o) {
    const int f = o[MATH_function];
    switch (type) {
        CASE(T_F16, ACTIVE_ONLY(float, to_half(FUNCTION(math_f32, f)(LANE(float, o[1], l)))))
        CASE(T_F32, ACTIVE_ONLY(float, FUNCTION(math_f32, f)(LANE(float, o[1], l))))
        CASE(T_F64, ACTIVE_ONLY(double, FUNCTION(math_f64, f)(LANE(double, o[1], l))))
        case T_C64: // most are computed in double, and rounded once
            if (f == MATH_exp)
                ACTIVE_ONLY(c64, own_cexpf(LANE(c64, o[1], l)));
            else if (f == MATH_sqrt)
                ACTIVE_ONLY(c64, own_csqrtf(LANE(c64, o[1], l)));
            else
                ACTIVE_ONLY(c64, (c64)FUNCTION(math_c128, f)(LANE(c64, o[1], l)));
            break;
        CASE(T_C128, ACTIVE_ONLY(c128, FUNCTION(math_c128, f)(LANE(c128, o[1], l))))
        default: internal_error();
    }
}
#define PAIR(T) LANE(T, o[1], l), LANE(T, o[2], l)
static void math2(Warp *w, int type, const int32_t *o) {
    const int f = o[MATH2_function];
    switch (type) {
        CASE(T_F16, ACTIVE_ONLY(float, to_half(FUNCTION(math2_f32, f)(PAIR(float)))))
        CASE(T_F32, ACTIVE_ONLY(float, FUNCTION(math2_f32, f)(PAIR(float))))
        CASE(T_F64, ACTIVE_ONLY(double, FUNCTION(math2_f64, f)(PAIR(double))))
        default: internal_error();
    }
}

// isnan, isinf, isfinite, signbit: of a complex number, of its parts.
#define CLASSES(T, RE, IM)                                                          \
    switch (o[CLASSIFY_function]) {                                                 \
        CASE(CLASSIFY_isnan, UNARY(int64_t, T, isnan(RE(a)) || isnan(IM(a))))       \
        CASE(CLASSIFY_isinf, UNARY(int64_t, T, isinf(RE(a)) || isinf(IM(a))))       \
        CASE(CLASSIFY_isfinite, UNARY(int64_t, T, isfinite(RE(a)) && isfinite(IM(a)))) \
        CASE(CLASSIFY_signbit, UNARY(int64_t, T, signbit(RE(a)) != 0))              \
        default: internal_error();                                                  \
    }
#define ITSELF(x) (x)
static void classify(Warp *w, int type, const int32_t *o) {
    switch (type) {
        case T_F16:
        case T_F32: CLASSES(float, ITSELF, ITSELF) break;
        case T_F64: CLASSES(double, ITSELF, ITSELF) break;
        case T_C64: CLASSES(c64, crealf, cimagf) break;
        case T_C128: CLASSES(c128, creal, cimag) break;
        default: internal_error();
    }
}

// Integers wrap modulo 2^64, so signed and unsigned ones are multiplied alike.
static uint64_t multiplied(uint64_t a, uint64_t n) {
    uint64_t result = 1;
    for (; n; n >>= 1, a *= a)
        if (n & 1) result *= a;
    return result;
}
// Numba's power of integers is a float64 at its end, `1.0 / r if invert else r`: large results lose
// their last bits, and from the exponent 65,537 on it is math.pow.
static int64_t int_power(int64_t a, int64_t n) {
    if (n < 0 && a != 1 && a != -1) return a ? 0 : INT64_MIN;
    if (n < 0) return n & 1 ? a : 1;
    const int64_t product = (int64_t)multiplied((uint64_t)a, (uint64_t)n);
    return saturate(n > 0x10000 ? pow((double)a, (double)n) : (double)product);
}
static uint64_t unsigned_power(uint64_t a, uint64_t n) {
    return saturate_unsigned(n > 0x10000 ? pow((double)a, (double)n) : (double)multiplied(a, n));
}
// By squaring, and at the end the reciprocal; a large exponent is math.pow's.
#define POWI(T, name)                                                         \
    static T name(T x, int64_t n) {                                           \
        if (n > 0x10000 || n < -0x10000) return (T)pow((double)x, (double)n); \
        T result = 1;                                                         \
        for (int64_t k = n < 0 ? -n : n; k; k >>= 1, x *= x)                  \
            if (k & 1) result *= x;                                           \
        return n < 0 ? 1 / result : result;                                   \
    }
POWI(float, power_f32)
POWI(double, power_f64)
// x ** n, and x * 2**n, with an integer n
static void with_integer(Warp *w, int op, int type, const int32_t *o) {
    _Static_assert((int)POWI_n == (int)LDEXP_n, "the same operands");
#define EXPONENT LANE(int64_t, o[POWI_n], l)
    if (type == T_F32 && op == OP_POWI)
        ACTIVE_ONLY(float, power_f32(LANE(float, o[1], l), EXPONENT));
    else if (type == T_F64 && op == OP_POWI)
        ACTIVE_ONLY(double, power_f64(LANE(double, o[1], l), EXPONENT));
    else if (type == T_F32)
        ACTIVE_ONLY(float, ldexpf(LANE(float, o[1], l), (int)EXPONENT));
    else if (type == T_F64)
        ACTIVE_ONLY(double, ldexp(LANE(double, o[1], l), (int)EXPONENT));
    else
        internal_error();
}
// CPython's power of complex numbers, as Numba's CUDA target has it: 0 where both real parts are 0.
#define COMPLEX_POWER(T, R, name, f, MAKE)                                                     \
    static T name(T a, T b) {                                                                  \
        const R x = creal##f(a), y = cimag##f(a), re = creal##f(b), im = cimag##f(b);          \
        if (b == 0) return 1;                                                                  \
        if (x == 0 && re == 0) return 0;                                                       \
        const R size = hypot##f(x, y), at = atan2##f(y, x);                                    \
        R length = pow##f(size, re), phase = at * re;                                          \
        if (im != 0) {                                                                         \
            length /= exp##f(at * im);                                                         \
            phase += im * log##f(size);                                                        \
        }                                                                                      \
        return MAKE(length * cos##f(phase), length * sin##f(phase));                           \
    }
COMPLEX_POWER(c128, double, power_c128, , CMPLX)
COMPLEX_POWER(c64, float, power_c64, f, CMPLXF)
static void power(Warp *w, int type, const int32_t *o) {
    switch (type) {
        CASE(T_I64, ACTIVE_ONLY(int64_t, int_power(PAIR(int64_t))))
        CASE(T_U64, ACTIVE_ONLY(uint64_t, unsigned_power(PAIR(uint64_t))))
        CASE(T_F16, ACTIVE_ONLY(float, to_half(powf(PAIR(float)))))
        CASE(T_F32, ACTIVE_ONLY(float, powf(PAIR(float))))
        CASE(T_F64, ACTIVE_ONLY(double, pow(PAIR(double))))
        CASE(T_C64, ACTIVE_ONLY(c64, power_c64(PAIR(c64))))
        CASE(T_C128, ACTIVE_ONLY(c128, power_c128(PAIR(c128))))
        default: internal_error();
    }
}
