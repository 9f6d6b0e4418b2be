// Arithmetic on registers: 32 lanes at a time, whatever the mask; only named variables, memory and
// control flow look at the mask.  A register that is the same in all lanes is computed once.

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

static inline int64_t saturate(double x) { // float -> int truncates and saturates, as cvt.rzi does
    if (isnan(x)) return 0;
    return x >= 9223372036854775807.0 ? INT64_MAX : x <= -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}
static inline uint64_t saturate_unsigned(double x) {
    if (!(x > 0)) return 0;
    return x >= 18446744073709551615.0 ? UINT64_MAX : (uint64_t)x;
}

// d = EXPR of a (and b, c), where each operand may be the same in all lanes.
#define SPREAD(T, v, o)                \
    T v##_[WARP];                      \
    const T *v = (const T *)reg(w, o); \
    if ((o) < 0) {                     \
        T s_ = v[0];                   \
        LANES                          \
            v##_[l] = s_;              \
        v = v##_;                      \
    }
#define UNARY(D, T, EXPR)              \
    do {                               \
        D *d = (D *)reg(w, o[0]);      \
        if (o[0] < 0) {                \
            T a = *(T *)reg(w, o[1]);  \
            *d = EXPR;                 \
        } else {                       \
            SPREAD(T, x, o[1]) LANES { \
                T a = x[l];            \
                d[l] = EXPR;           \
            }                          \
        }                              \
    } while (0)
#define BINARY(D, T, EXPR)                                    \
    do {                                                      \
        D *d = (D *)reg(w, o[0]);                             \
        if (o[0] < 0) {                                       \
            T a = *(T *)reg(w, o[1]), b = *(T *)reg(w, o[2]); \
            *d = EXPR;                                        \
        } else {                                              \
            SPREAD(T, x, o[1]) SPREAD(T, y, o[2]) LANES {     \
                T a = x[l], b = y[l];                         \
                d[l] = EXPR;                                  \
            }                                                 \
        }                                                     \
    } while (0)
#define TERNARY(D, T, EXPR)                                                           \
    do {                                                                              \
        D *d = (D *)reg(w, o[0]);                                                     \
        if (o[0] < 0) {                                                               \
            T a = *(T *)reg(w, o[1]), b = *(T *)reg(w, o[2]), c = *(T *)reg(w, o[3]); \
            *d = EXPR;                                                                \
        } else {                                                                      \
            SPREAD(T, x, o[1]) SPREAD(T, y, o[2]) SPREAD(T, z, o[3]) LANES {          \
                T a = x[l], b = y[l], c = z[l];                                       \
                d[l] = EXPR;                                                          \
            }                                                                         \
        }                                                                             \
    } while (0)
// Slow functions run for the active lanes only.
#define ACTIVE_ONLY(D, EXPR)              \
    do {                                  \
        D *d = (D *)reg(w, o[0]);         \
        if (o[0] < 0) {                   \
            const int l = 0;              \
            (void)l;                      \
            *d = EXPR;                    \
        } else                            \
            ACTIVE (w->mask) d[l] = EXPR; \
    } while (0)
#define LANE(T, r, l) (((const T *)reg(w, r))[(r) < 0 ? 0 : (l)])

#define INTEGERS(EXPR)                                 \
    case T_I64: BINARY(int64_t, int64_t, EXPR); break; \
    case T_U64: BINARY(uint64_t, uint64_t, EXPR); break;
#define FLOATS(EXPR)                                        \
    case T_F16: BINARY(float, float, to_half(EXPR)); break; \
    case T_F32: BINARY(float, float, EXPR); break;          \
    case T_F64: BINARY(double, double, EXPR); break;
#define COMPLEXES(EXPR)                        \
    case T_C64: BINARY(c64, c64, EXPR); break; \
    case T_C128: BINARY(c128, c128, EXPR); break;
#define COMPARE(EXPR)                                   \
    case T_I64: BINARY(int64_t, int64_t, EXPR); break;  \
    case T_U64: BINARY(int64_t, uint64_t, EXPR); break; \
    case T_F16:                                         \
    case T_F32: BINARY(int64_t, float, EXPR); break;    \
    case T_F64: BINARY(int64_t, double, EXPR); break;

static int64_t floor_div(int64_t a, int64_t b) {
    if (b == -1) return -a;
    int64_t q = a / b;
    return q - (a % b && (a < 0) != (b < 0));
}
static int64_t floor_mod(int64_t a, int64_t b) {
    if (b == -1) return 0;
    int64_t r = a % b;
    return r && (r < 0) != (b < 0) ? r + b : r;
}
static double float_mod(double a, double b) {
    double r = fmod(a, b);
    return r == 0 ? copysign(0, b) : (r < 0) != (b < 0) ? r + b : r;
}
static double float_floor_div(double a, double b) {
    return b == 0 || isinf(a) ? floor(a / b) : round((a - float_mod(a, b)) / b);
}
static uint64_t int_pow(uint64_t a, int64_t n) { // also right for signed values, modulo 2^64
    if (n < 0) return a == 1 ? 1 : a == UINT64_MAX ? (n & 1 ? a : 1) : 0;
    uint64_t result = 1;
    for (; n; n >>= 1, a *= a)
        if (n & 1) result *= a;
    return result;
}
static c128 own_pow(c128 a, c128 b) { return b == 0 ? 1 : cpow(a, b); }
static double cbrt_(double x) { return cbrt(x); }
static double rsqrt_(double x) { return 1 / sqrt(x); }
static double sinpi_(double x) { return sin(M_PI * fmod(x, 2)); }
static double cospi_(double x) { return cos(M_PI * fmod(x, 2)); }

#define REAL_FUNCTIONS(X)                                                                                    \
    X(sqrt)                                                                                                  \
    X(exp) X(log) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh)     \
        X(atanh) X(exp2) X(expm1) X(log2) X(log10) X(log1p) X(floor) X(ceil) X(trunc) X(rint) X(fabs) X(erf) \
            X(erfc) X(tgamma) X(lgamma)
#define COMPLEX_FUNCTIONS(X)                                                                             \
    X(sqrt)                                                                                              \
    X(exp) X(log) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) \
        X(atanh)
#define BINARY_FUNCTIONS(X) \
    X(atan2) X(hypot) X(copysign) X(fmod) X(remainder) X(fmin) X(fmax) X(fdim) X(nextafter) X(pow)
#define ROW64(name) [FN_##name] = name,
#define ROW32(name) [FN_##name] = name##f,
#define ROWC(name) [FN_##name] = c##name,
#define ROW64_2(name) [FN2_##name] = name,
#define ROW32_2(name) [FN2_##name] = name##f,
static double (*const math64[])(double) = {REAL_FUNCTIONS(ROW64)[FN_cbrt] = cbrt_, [FN_rsqrt] = rsqrt_,
                                           [FN_sinpi] = sinpi_, [FN_cospi] = cospi_, [FN_round] = rint};
static float (*const math32[])(float) = {REAL_FUNCTIONS(ROW32)[FN_cbrt] = cbrtf, [FN_round] = rintf};
static c128 (*const math_complex[])(c128) = {COMPLEX_FUNCTIONS(ROWC)};
static double (*const math64_2[])(double, double) = {BINARY_FUNCTIONS(ROW64_2)};
static float (*const math32_2[])(float, float) = {BINARY_FUNCTIONS(ROW32_2)};

static float call32(int f, float x) {
    switch (f) {
        case FN_rsqrt:
        case FN_sinpi:
        case FN_cospi: return (float)math64[f](x);
    }
    return math32[f](x);
}
static float call32_2(int f, float x, float y) {
    return f == FN2_ldexp ? ldexpf(x, (int)y) : math32_2[f](x, y);
}
static double call64_2(int f, double x, double y) {
    return f == FN2_ldexp ? ldexp(x, (int)y) : math64_2[f](x, y);
}

#define PREDICATE(T)                                                       \
    do {                                                                   \
        switch (f) {                                                       \
            case FN_isnan: UNARY(int64_t, T, isnan(a) != 0); return;       \
            case FN_isinf: UNARY(int64_t, T, isinf(a) != 0); return;       \
            case FN_isfinite: UNARY(int64_t, T, isfinite(a) != 0); return; \
            case FN_signbit: UNARY(int64_t, T, signbit(a) != 0); return;   \
        }                                                                  \
    } while (0)
static void math(Warp *w, int type, const int32_t *o) {
    const int f = o[2];
    switch (type) {
        case T_F16:
            PREDICATE(float);
            ACTIVE_ONLY(float, to_half(call32(f, LANE(float, o[1], l))));
            break;
        case T_F32:
            PREDICATE(float);
            ACTIVE_ONLY(float, call32(f, LANE(float, o[1], l)));
            break;
        case T_F64:
            PREDICATE(double);
            ACTIVE_ONLY(double, math64[f](LANE(double, o[1], l)));
            break;
        case T_C64: ACTIVE_ONLY(c64, (c64)math_complex[f](LANE(c64, o[1], l))); break;
        case T_C128: ACTIVE_ONLY(c128, math_complex[f](LANE(c128, o[1], l))); break;
    }
}
static void math2(Warp *w, int type, const int32_t *o) {
    const int f = o[3];
    switch (type) {
        case T_F16:
            ACTIVE_ONLY(float, to_half(call32_2(f, LANE(float, o[1], l), LANE(float, o[2], l))));
            break;
        case T_F32: ACTIVE_ONLY(float, call32_2(f, LANE(float, o[1], l), LANE(float, o[2], l))); break;
        case T_F64: ACTIVE_ONLY(double, call64_2(f, LANE(double, o[1], l), LANE(double, o[2], l))); break;
    }
}
static void power(Warp *w, int type, const int32_t *o) {
    switch (type) {
        case T_I64:
        case T_U64: ACTIVE_ONLY(uint64_t, int_pow(LANE(uint64_t, o[1], l), LANE(int64_t, o[2], l))); break;
        case T_F16: ACTIVE_ONLY(float, to_half(powf(LANE(float, o[1], l), LANE(float, o[2], l)))); break;
        case T_F32: ACTIVE_ONLY(float, powf(LANE(float, o[1], l), LANE(float, o[2], l))); break;
        case T_F64: ACTIVE_ONLY(double, pow(LANE(double, o[1], l), LANE(double, o[2], l))); break;
        case T_C64: ACTIVE_ONLY(c64, (c64)own_pow(LANE(c64, o[1], l), LANE(c64, o[2], l))); break;
        case T_C128: ACTIVE_ONLY(c128, own_pow(LANE(c128, o[1], l), LANE(c128, o[2], l))); break;
    }
}

#define TO(EXPR)                                                  \
    switch (o[2]) {                                               \
        case T_I64: UNARY(int64_t, FROM, (int64_t)(EXPR)); break; \
        case T_U64:                                               \
            UNARY(uint64_t, FROM, (uint64_t)(EXPR));              \
            break;                                                \
            TO_REAL                                               \
    }
#define TO_REAL                                               \
    case T_F16: UNARY(float, FROM, to_half((float)a)); break; \
    case T_F32: UNARY(float, FROM, (float)a); break;          \
    case T_F64: UNARY(double, FROM, (double)a); break;        \
    case T_C64: UNARY(c64, FROM, (c64)a); break;              \
    case T_C128: UNARY(c128, FROM, (c128)a); break;
static void convert(Warp *w, int from, const int32_t *o) {
    switch (from) {
#define FROM int64_t
        case T_I64: TO(a) break;
#undef FROM
#define FROM uint64_t
        case T_U64: TO(a) break;
#undef FROM
#define FROM float
        case T_F16:
        case T_F32:
            switch (o[2]) {
                case T_I64: UNARY(int64_t, FROM, saturate(a)); break;
                case T_U64:
                    UNARY(uint64_t, FROM, saturate_unsigned(a));
                    break;
                    TO_REAL
            }
            break;
#undef FROM
#define FROM double
        case T_F64:
            switch (o[2]) {
                case T_I64: UNARY(int64_t, FROM, saturate(a)); break;
                case T_U64:
                    UNARY(uint64_t, FROM, saturate_unsigned(a));
                    break;
                    TO_REAL
            }
            break;
#undef FROM
        case T_C64:
            if (o[2] == T_C128)
                UNARY(c128, c64, (c128)a);
            else
                UNARY(c64, c64, a);
            break;
        case T_C128:
            if (o[2] == T_C64)
                UNARY(c64, c128, (c64)a);
            else
                UNARY(c128, c128, a);
            break;
    }
}

static void narrow(Warp *w, const int32_t *o) {
    switch (o[2]) {
        case M_b1: UNARY(int64_t, int64_t, a != 0); break;
        case M_i8: UNARY(int64_t, int64_t, (int8_t)a); break;
        case M_i16: UNARY(int64_t, int64_t, (int16_t)a); break;
        case M_i32: UNARY(int64_t, int64_t, (int32_t)a); break;
        case M_u8: UNARY(int64_t, int64_t, (uint8_t)a); break;
        case M_u16: UNARY(int64_t, int64_t, (uint16_t)a); break;
        case M_u32: UNARY(int64_t, int64_t, (uint32_t)a); break;
        default: UNARY(int64_t, int64_t, a);
    }
}

static int64_t bit_reverse(uint64_t x, int width) {
    uint64_t r = 0;
    for (int i = 0; i < width; i++, x >>= 1) r = r << 1 | (x & 1);
    return (int64_t)r;
}
static void bits(Warp *w, int op, const int32_t *o) {
    const int width = o[2];
    const uint64_t keep = width == 64 ? ~0ull : (1ull << width) - 1;
    switch (op) {
        case OP_POPC: UNARY(int64_t, uint64_t, __builtin_popcountll(a & keep)); break;
        case OP_CLZ:
            UNARY(int64_t, uint64_t, (a & keep) ? __builtin_clzll(a & keep) - (64 - width) : width);
            break;
        case OP_BREV: UNARY(int64_t, uint64_t, bit_reverse(a, width)); break;
        case OP_FFS: UNARY(int64_t, uint64_t, (a & keep) ? __builtin_ctzll(a & keep) + 1 : 0); break;
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
        case T_F16:
        case T_F32: MOVE(int32_t); break;
        case T_C128: MOVE(c128); break;
        default: MOVE(int64_t);
    }
}
#define PICK(T)                                                                                             \
    do {                                                                                                    \
        T *d = (T *)reg(w, o[0]);                                                                           \
        if (o[0] < 0) {                                                                                     \
            *d = *(int64_t *)reg(w, o[1]) ? *(T *)reg(w, o[2]) : *(T *)reg(w, o[3]);                        \
        } else {                                                                                            \
            SPREAD(int64_t, p, o[1]) SPREAD(T, x, o[2]) SPREAD(T, y, o[3]) LANES d[l] = p[l] ? x[l] : y[l]; \
        }                                                                                                   \
    } while (0)
static inline void select_(Warp *w, int type, const int32_t *o) {
    switch (type) {
        case T_F16:
        case T_F32: PICK(int32_t); break;
        case T_C128: PICK(c128); break;
        default: PICK(int64_t);
    }
}

// True when a lane of the mask holds a zero divisor.
static int64_t zero_divisor(const Warp *w, int32_t r) {
    if (r < 0) return *(int64_t *)reg(w, r) == 0 ? __builtin_ctz(w->mask) : -1;
    const int64_t *b = (const int64_t *)reg(w, r);
    ACTIVE (w->mask)
        if (b[l] == 0) return l;
    return -1;
}

static inline void arithmetic(Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    switch (in->op) {
        case OP_ADD:
            switch (in->type) { INTEGERS(a + b) FLOATS(a + b) COMPLEXES(a + b) }
            break;
        case OP_SUB:
            switch (in->type) { INTEGERS(a - b) FLOATS(a - b) COMPLEXES(a - b) }
            break;
        case OP_MUL:
            switch (in->type) { INTEGERS(a * b) FLOATS(a * b) COMPLEXES(a * b) }
            break;
        case OP_DIV:
            switch (in->type) { FLOATS(a / b) COMPLEXES(a / b) }
            break;
        case OP_FLOORDIV:
            switch (in->type) {
                case T_I64: BINARY(int64_t, int64_t, b ? floor_div(a, b) : 0); break;
                case T_U64:
                    BINARY(uint64_t, uint64_t, b ? a / b : 0);
                    break;
                    FLOATS(float_floor_div(a, b))
            }
            break;
        case OP_MOD:
            switch (in->type) {
                case T_I64: BINARY(int64_t, int64_t, b ? floor_mod(a, b) : 0); break;
                case T_U64:
                    BINARY(uint64_t, uint64_t, b ? a % b : 0);
                    break;
                    FLOATS(float_mod(a, b))
            }
            break;
        case OP_POW: power(w, in->type, o); break;
        case OP_NEG:
            switch (in->type) {
                case T_I64:
                case T_U64: UNARY(int64_t, int64_t, -a); break;
                case T_F16:
                case T_F32: UNARY(float, float, -a); break;
                case T_F64: UNARY(double, double, -a); break;
                case T_C64: UNARY(c64, c64, -a); break;
                case T_C128: UNARY(c128, c128, -a); break;
            }
            break;
        case OP_ABS:
            switch (in->type) {
                case T_I64: UNARY(int64_t, int64_t, a < 0 ? -a : a); break;
                case T_U64: UNARY(uint64_t, uint64_t, a); break;
                case T_F16:
                case T_F32: UNARY(float, float, fabsf(a)); break;
                case T_F64: UNARY(double, double, fabs(a)); break;
                case T_C64: UNARY(float, c64, cabsf(a)); break;
                case T_C128: UNARY(double, c128, cabs(a)); break;
            }
            break;
        case OP_FMA:
            switch (in->type) {
                case T_F16: TERNARY(float, float, to_half((float)((double)a * b + c))); break;
                case T_F32: TERNARY(float, float, fmaf(a, b, c)); break;
                case T_F64: TERNARY(double, double, fma(a, b, c)); break;
            }
            break;
        case OP_MIN:
            switch (in->type) { INTEGERS(b < a ? b : a) FLOATS(b < a || a != a ? b : a) }
            break; // of NaN and a number, the number
        case OP_MAX:
            switch (in->type) { INTEGERS(b > a ? b : a) FLOATS(b > a || a != a ? b : a) }
            break;
        case OP_AND: BINARY(int64_t, int64_t, a &b); break;
        case OP_OR: BINARY(int64_t, int64_t, a | b); break;
        case OP_XOR: BINARY(int64_t, int64_t, a ^ b); break;
        case OP_NOT: UNARY(int64_t, int64_t, ~a); break;
        case OP_SHL: BINARY(uint64_t, uint64_t, b < 64 ? a << b : 0); break;
        case OP_SHR:
            if (in->type == T_U64)
                BINARY(uint64_t, uint64_t, b < 64 ? a >> b : 0);
            else
                BINARY(int64_t, int64_t, a >> ((uint64_t)b < 64 ? b : 63));
            break;
        case OP_LT:
            switch (in->type) { COMPARE(a < b) }
            break;
        case OP_LE:
            switch (in->type) { COMPARE(a <= b) }
            break;
        case OP_EQ:
            switch (in->type) {
                COMPARE(a == b)
                case T_C64: BINARY(int64_t, c64, a == b); break;
                case T_C128: BINARY(int64_t, c128, a == b); break;
            }
            break;
        case OP_NE:
            switch (in->type) {
                COMPARE(a != b)
                case T_C64: BINARY(int64_t, c64, a != b); break;
                case T_C128: BINARY(int64_t, c128, a != b); break;
            }
            break;
        case OP_SELECT: select_(w, in->type, o); break;
        case OP_MOV: move(w, in->type, o, w->mask); break;
        case OP_COPY: move(w, in->type, o, ALL); break;
        case OP_CVT: convert(w, in->type, o); break;
        case OP_NARROW: narrow(w, o); break;
        case OP_MATH: math(w, in->type, o); break;
        case OP_MATH2: math2(w, in->type, o); break;
        case OP_POPC:
        case OP_CLZ:
        case OP_BREV:
        case OP_FFS: bits(w, in->op, o); break;
        case OP_REAL:
            if (in->type == T_C64)
                UNARY(float, c64, crealf(a));
            else
                UNARY(double, c128, creal(a));
            break;
        case OP_IMAG:
            if (in->type == T_C64)
                UNARY(float, c64, cimagf(a));
            else
                UNARY(double, c128, cimag(a));
            break;
        case OP_COMPLEX:
            if (in->type == T_C64)
                BINARY(c64, float, CMPLXF(a, b));
            else
                BINARY(c128, double, CMPLX(a, b));
            break;
    }
}
