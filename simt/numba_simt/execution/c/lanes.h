// How an operation meets the lanes of its registers. One that is the same in all lanes is computed once.

#pragma once

#include "machine.h"

// d = EXPR of a (and b, c), where each operand may be the same in all lanes.
_Static_assert(ADD_result == 0 && ADD_a == 1 && ADD_b == 2 && FMA_c == 3, "as the macros have it");
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
