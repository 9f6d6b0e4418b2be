// Loads, stores and atomics: indices to addresses, addresses to sectors and banks, values to lanes.

static inline char *start(const Machine *m, const Warp *w, const Array *a) {
    (void)m;
    return a->space == SPACE_shared  ? w->block->shared + (intptr_t)a->base
           : a->space == SPACE_local ? w->local + (intptr_t)a->base * WARP
                                     : a->base;
}

static int64_t one_value_address(const int64_t *index, const Array *a, int d) {
    int64_t i = *index;
    if (i < 0) i += a->shape[d];
    return (uint64_t)i < (uint64_t)a->shape[d] ? i * a->strides[d] : INT64_MIN;
}

// Bytes from the array's first element, for every lane; checked against each dimension's length.
// Returns -1, or the lane that is out of bounds (its axis and index in *axis, *bad).
static inline int addresses(const Warp *w, const Array *a, const int32_t *index, int64_t *at, int *axis,
                            int64_t *bad) {
    int64_t same = 0;
    int any = 0;
    for (int d = 0; d < a->dimensions; d++) {
        const int64_t *x = (const int64_t *)reg(w, index[d]), n = a->shape[d], stride = a->strides[d];
        if (index[d] < 0) {
            const int64_t step = one_value_address(x, a, d);
            if (step == INT64_MIN) {
                *axis = d;
                *bad = *x;
                return __builtin_ctz(w->mask);
            }
            same += step;
            continue;
        }
        uint64_t worst = 0;
        if (!any)
            LANES {
                int64_t i = x[l];
                i += i >> 63 & n;
                worst |= (uint64_t)i >= (uint64_t)n;
                at[l] = i * stride;
            }
        else
            LANES {
                int64_t i = x[l];
                i += i >> 63 & n;
                worst |= (uint64_t)i >= (uint64_t)n;
                at[l] += i * stride;
            }
        any = 1;
        if (worst)
            ACTIVE (w->mask) {
                const int64_t i = x[l] < 0 ? x[l] + n : x[l];
                if ((uint64_t)i >= (uint64_t)n) {
                    *axis = d;
                    *bad = x[l];
                    return l;
                }
            }
    }
    if (any) {
        if (same)
            LANES
                at[l] += same;
    } else
        LANES
            at[l] = same;
    return -1;
}

static int out_of_bounds(Machine *m, const Warp *w, const Instruction *in, int array, int lane, int axis,
                         int64_t bad) {
    Hazard h = hazard_at(H_out_of_bounds, w, lane, in->line);
    h.array = array;
    h.axis = axis;
    h.index = bad;
    h.space = m->arrays[array].space;
    h.length = m->arrays[array].shape[axis];
    return stop(m, h);
}

// How many 32-byte sectors one warp's request touches (addresses from a 256-byte aligned start).
static int sectors_of(Allocation *a, const int64_t *at, uint32_t mask, int size, int kind) {
    int64_t seen[2 * WARP];
    int n = 0;
    ACTIVE (mask)
        for (int64_t sector = at[l] >> 5; sector <= (at[l] + size - 1) >> 5; sector++) {
            int i = n;
            while (i > 0 && seen[i - 1] != sector) i--;
            if (i) continue;
            seen[n++] = sector;
            a->sectors[sector] |= kind == LOAD ? 1 : 2;
        }
    return n;
}

// Passes through shared memory: 32 banks of 4 bytes; 8-byte accesses go by half warps, 16-byte ones
// by quarter warps; within a group one pass serves one word of each bank.  *least: without conflict.
static int transactions_of(const int64_t *at, uint32_t mask, int size, int *least) {
    const int words = size < 4 ? 1 : size / 4, lanes = WARP / words;
    int total = 0;
    *least = 0;
    for (int from = 0; from < WARP; from += lanes) {
        const uint32_t group = mask & (lanes == WARP ? ALL : (BIT(lanes) - 1) << from);
        if (!group) continue;
        int64_t seen[WARP][WARP];
        int n[WARP] = {0}, passes = 1;
        ACTIVE (group)
            for (int k = 0; k < words; k++) {
                const int64_t word = (at[l] >> 2) + k, bank = word & 31;
                int i = n[bank];
                while (i > 0 && seen[bank][i - 1] != word) i--;
                if (i) continue;
                seen[bank][n[bank]++] = word;
                if (n[bank] > passes) passes = n[bank];
            }
        total += passes;
        ++*least;
    }
    return total;
}

#define TALLY(space, what, amount)                                                          \
    do {                                                                                    \
        COUNT(m, line, space##_##what##_requests)++;                                        \
        COUNT(m, line, space##_##what##_bytes) += (int64_t)size * __builtin_popcount(mask); \
        amount                                                                              \
    } while (0)

static void count_access(Machine *m, const Warp *w, int line, int array, int kind, int size,
                         const int64_t *at) {
    const Array *a = &m->arrays[array];
    const uint32_t mask = w->mask;
    int least;
    if (kind == ATOMIC) {
        COUNT(m, line, atomics)++;
        COUNT(m, line, atomic_lanes) += __builtin_popcount(mask);
    } else if (a->space == SPACE_global) {
        const int n = sectors_of(&m->allocations[a->allocation], at, mask, size, kind);
        if (kind == LOAD)
            TALLY(global, load, COUNT(m, line, global_load_sectors) += n;);
        else
            TALLY(global, store, COUNT(m, line, global_store_sectors) += n;);
    } else if (a->space == SPACE_shared) {
        const int n = transactions_of(at, mask, size, &least);
        if (kind == LOAD)
            TALLY(shared, load, COUNT(m, line, shared_load_transactions) += n;
                  COUNT(m, line, shared_load_conflicts) += n - least;);
        else
            TALLY(shared, store, COUNT(m, line, shared_store_transactions) += n;
                  COUNT(m, line, shared_store_conflicts) += n - least;);
    }
    if (m->n_accesses < m->max_accesses && a->space != SPACE_local) {
        Access *x = &m->accesses[m->n_accesses++];
        *x =
            (Access){line, array, kind, w->id % m->state->warps_per_block, w->block->id, a->space, size, {0}};
        LANES
            x->addresses[l] = mask >> l & 1 ? at[l] : -1;
    }
}

static inline Cell *cell(Machine *m, const Warp *w, const Array *a, int64_t at) {
    if (a->space == SPACE_shared) return w->block->shared_cells + (at >> m->shared_shift);
    const Allocation *x = &m->allocations[a->allocation];
    return x->cells + (at >> x->shift);
}

// Some lanes access one element of their local arrays, `at` bytes from the start of local memory.
static inline void watch_local(Machine *m, Warp *w, const Instruction *in, int array, int kind, int64_t at,
                               uint32_t lanes) {
    if (lanes == w->mask || lanes & -w->mask & w->mask) // once for each request
        ++*(kind == LOAD ? &COUNT(m, in->line, local_loads) : &COUNT(m, in->line, local_stores));
    if (kind != LOAD) {
        w->local_written[at] |= lanes;
        return;
    }
    lanes &= ~w->local_written[at];
    if (!lanes) return;
    Hazard h = hazard_at(H_uninitialised, w, __builtin_ctz(lanes), in->line);
    h.array = array;
    h.offset = at;
    h.space = SPACE_local;
    report(m, h);
}

// Counters and hazards of one warp's access at offsets `at` from the array's first element; a store
// happens here, lane by lane, since the order of two lanes' stores decides whether a value changes.
static int observe(Machine *m, Warp *w, const Instruction *in, int array, int kind, int size,
                   const int64_t *from_first, char *first, char (*values)[sizeof(Slot)]) {
    const Array *a = &m->arrays[array];
    const int64_t origin = a->space == SPACE_global ? a->offset : (int64_t)(intptr_t)a->base;
    int64_t at[WARP];
    LANES
        at[l] = from_first[l] + origin;
    count_access(m, w, in->line, array, kind, size, at);
    if (a->space == SPACE_constant) return MORE;
    m->state->now++;
    if (a->space == SPACE_local) {
        ACTIVE (w->mask) watch_local(m, w, in, array, kind, at[l], BIT(l));
        return MORE;
    }
    const int64_t granule =
        1ll << (a->space == SPACE_shared ? m->shared_shift : m->allocations[a->allocation].shift);
    ACTIVE (w->mask) {
        const int same = values ? !memcmp(first + from_first[l], values[l], size) : in->op == OP_ATOMIC_EXCH;
        if (kind == ATOMIC &&
            hand_over(m, w, l, in->line, a->space == SPACE_shared ? -1 : a->allocation, at[l]))
            return FATAL;
        for (int64_t byte = 0; byte < size; byte += granule)
            touch(m, cell(m, w, a, at[l] + byte), w, l, in->line, kind, array, at[l] + byte, same);
        if (values) memcpy(first + from_first[l], values[l], size);
    }
    return MORE;
}

static int misaligned(Machine *m, const Warp *w, const Instruction *in, int array, int size,
                      const int64_t *at) {
    const Array *a = &m->arrays[array];
    if (a->space == SPACE_local || a->space == SPACE_constant) return -1;
    const int64_t origin = a->space == SPACE_global ? a->offset : (int64_t)(intptr_t)a->base;
    ACTIVE (w->mask)
        if ((at[l] + origin) & (size - 1)) {
            Hazard h = hazard_at(H_misaligned, w, l, in->line);
            h.array = array;
            h.offset = at[l] + origin;
            h.length = size;
            h.space = a->space;
            stop(m, h);
            return l;
        }
    return -1;
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
// Local memory is interleaved: the 32 lanes' copies of an element lie side by side.
#define WHERE(M, l) ((M *)(first + (local ? at[l] * WARP + (l) * (int)sizeof(M) : at[l])))

static inline int load(Machine *m, Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    const Array *a = &m->arrays[o[LD_array]];
    int64_t at[WARP], bad;
    int axis, local = a->space == SPACE_local;
    char *first = start(m, w, a);
    const int lane = addresses(w, a, o + LD_index, at, &axis, &bad);
    if (lane >= 0) return out_of_bounds(m, w, in, o[LD_array], lane, axis, bad);
    if (m->watch) {
        if (misaligned(m, w, in, o[LD_array], ELEMENT_SIZE(a), at) >= 0) return FATAL;
        observe(m, w, in, o[LD_array], LOAD, ELEMENT_SIZE(a), at, first, NULL);
    }
    const uint32_t mask = w->mask;
#define LOAD_AS(MT_, M, R, IN, OUT)          \
    case MT_: {                              \
        R *d = (R *)reg(w, o[LD_result]);            \
        if (o[LD_result] < 0) {                      \
            M v = *(M *)(first + at[0]);     \
            *d = IN;                         \
        } else if (mask == ALL && !local)    \
            for (int l = 0; l < WARP; l++) { \
                M v = *(M *)(first + at[l]); \
                d[l] = IN;                   \
            }                                \
        else                                 \
            ACTIVE (mask) {                  \
                M v = *WHERE(M, l);          \
                d[l] = IN;                   \
            }                                \
    } break;
    switch (a->memory_type) {
        EACH_TYPE(LOAD_AS)
        default: internal_error();
    }
    return MORE;
}

static inline int store(Machine *m, Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    const Array *a = &m->arrays[o[ST_array]];
    int64_t at[WARP], bad;
    int axis, local = a->space == SPACE_local;
    char *first = start(m, w, a);
    const int lane = addresses(w, a, o + ST_index, at, &axis, &bad);
    if (lane >= 0) return out_of_bounds(m, w, in, o[ST_array], lane, axis, bad);
    w->idle = m->state->idle = 0;
    const uint32_t mask = w->mask;
    char values[WARP][sizeof(Slot)];
    const int watched = m->watch && !local;
    if (m->watch && misaligned(m, w, in, o[ST_array], ELEMENT_SIZE(a), at) >= 0) return FATAL;
#define STORE_AS(MT_, M, R, IN, OUT)                         \
    case MT_: {                                              \
        ACTIVE (mask) {                                      \
            R v = LANE(R, o[ST_value], l);                          \
            *(watched ? (M *)values[l] : WHERE(M, l)) = OUT; \
        }                                                    \
    } break;
    switch (a->memory_type) {
        EACH_TYPE(STORE_AS)
        default: internal_error();
    }
    if (m->watch) observe(m, w, in, o[ST_array], STORE, ELEMENT_SIZE(a), at, first, local ? NULL : values);
    return MORE;
}

// acc[i, j] with indices that all lanes share: 32 values side by side, no address per lane.
static inline int local_shared_index(Machine *m, Warp *w, const Instruction *in, const Array *a,
                                     const int32_t *index, int array, int64_t *at) {
    *at = 0;
    for (int d = 0; d < a->dimensions; d++) {
        const int64_t *x = (const int64_t *)reg(w, index[d]), step = one_value_address(x, a, d);
        if (step == INT64_MIN) return out_of_bounds(m, w, in, array, __builtin_ctz(w->mask), d, *x);
        *at += step;
    }
    return MORE;
}
static inline int all_scalar(const int32_t *index, int n) {
    for (int d = 0; d < n; d++)
        if (index[d] >= 0) return 0;
    return 1;
}
static inline int local_float(Machine *m, Warp *w, const Instruction *in, const Array *a, int is_load) {
    const int32_t *o = in->o;
    const int array = o[is_load ? LD_array : ST_array];
    int64_t at;
    if (local_shared_index(m, w, in, a, o + LD_index, array, &at)) return FATAL;
    if (m->watch) watch_local(m, w, in, array, is_load ? LOAD : STORE, (intptr_t)a->base + at, w->mask);
    float *cell_ = (float *)(w->local + ((intptr_t)a->base + at) * WARP);
    const uint32_t mask = w->mask;
    if (is_load) {
        float *d = (float *)reg(w, o[LD_result]);
        if (mask == ALL)
            LANES
                d[l] = cell_[l];
        else
            LANES
                d[l] = mask >> l & 1 ? cell_[l] : d[l];
        return MORE;
    }
    SPREAD(float, v, o[ST_value])
    if (mask == ALL)
        LANES
            cell_[l] = v[l];
    else
        LANES
            cell_[l] = mask >> l & 1 ? v[l] : cell_[l];
    return MORE;
}

// LDV, STV: four neighbours of the last axis, float32 or uint32, in one access.
static int vector_access(Machine *m, Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    const int is_load = in->op == OP_LDV, array = o[is_load ? LDV_array : STV_array];
    const int n = 4, reg0 = o[is_load ? LDV_result : STV_value];
    const Array *a = &m->arrays[array];
    const int last = a->dimensions - 1;
    int64_t at[WARP], bad;
    int axis;
    char *first = start(m, w, a);
    int lane = addresses(w, a, o + LDV_index, at, &axis, &bad);
    if (lane < 0)
        ACTIVE (w->mask) {
            const int64_t i = LANE(int64_t, o[LDV_index + last], l), from = i < 0 ? i + a->shape[last] : i;
            if (from + n > a->shape[last]) {
                lane = l;
                axis = last;
                bad = from + n - 1;
                break;
            }
        }
    if (lane >= 0) return out_of_bounds(m, w, in, array, lane, axis, bad);
    if (misaligned(m, w, in, array, 4 * n, at) >= 0) return FATAL;
    char values[WARP][sizeof(Slot)];
    const int is_float = in->type == T_F32;
    if (!is_load)
        ACTIVE (w->mask)
            for (int k = 0; k < n; k++)
                memcpy(values[l] + 4 * k, reg(w, reg0 + k) + (is_float ? 4 : 8) * l, 4); // low half
    if (m->watch) observe(m, w, in, array, is_load ? LOAD : STORE, 4 * n, at, first, is_load ? NULL : values);
    if (!is_load)
        ACTIVE (w->mask) memcpy(first + at[l], values[l], 4 * n);
    else
        for (int k = 0; k < n; k++)
            ACTIVE (w->mask) {
                const char *from = first + at[l] + 4 * k;
                if (is_float)
                    ((float *)reg(w, reg0 + k))[l] = *(const float *)from;
                else
                    ((int64_t *)reg(w, reg0 + k))[l] = *(const uint32_t *)from;
            }
    return MORE;
}

// What an atomic leaves in memory, of what was there and the lane's value (and of CAS, its comparand).
// As Numba's: with a NaN on either side, max and min leave what was there; nanmax and nanmin replace
// a NaN by a number.
#define INTEGER_UPDATE(T)                                                   \
    switch (op) {                                                           \
        CASE(OP_ATOMIC_ADD, new_ = old + v)                                 \
        CASE(OP_ATOMIC_SUB, new_ = old - v)                                 \
        CASE(OP_ATOMIC_EXCH, new_ = v)                                      \
        case OP_ATOMIC_NANMAX: CASE(OP_ATOMIC_MAX, new_ = v > old ? v : old) \
        case OP_ATOMIC_NANMIN: CASE(OP_ATOMIC_MIN, new_ = v < old ? v : old) \
        CASE(OP_ATOMIC_AND, new_ = old & v)                                 \
        CASE(OP_ATOMIC_OR, new_ = old | v)                                  \
        CASE(OP_ATOMIC_XOR, new_ = old ^ v)                                 \
        CASE(OP_ATOMIC_INC, new_ = old >= v ? 0 : old + 1)                  \
        CASE(OP_ATOMIC_DEC, new_ = old == 0 || old > v ? v : old - 1)       \
        CASE(OP_ATOMIC_CAS, new_ = old == LANE(T, o[ATOMIC_comparand], l) ? v : old) \
        default: internal_error();                                          \
    }
#define FLOAT_UPDATE(T)                                                          \
    switch (op) {                                                                \
        CASE(OP_ATOMIC_ADD, new_ = old + v)                                      \
        CASE(OP_ATOMIC_SUB, new_ = old - v)                                      \
        CASE(OP_ATOMIC_MAX, new_ = v > old ? v : old)                            \
        CASE(OP_ATOMIC_MIN, new_ = v < old ? v : old)                            \
        CASE(OP_ATOMIC_NANMAX, new_ = v > old || (old != old && v == v) ? v : old) \
        CASE(OP_ATOMIC_NANMIN, new_ = v < old || (old != old && v == v) ? v : old) \
        default: internal_error();                                               \
    }

static int atomic(Machine *m, Warp *w, const Instruction *in) { // lane after lane, in lane order
    const int32_t *o = in->o;
    const int op = in->op;
    const Array *a = &m->arrays[o[ATOMIC_array]];
    int64_t at[WARP], bad;
    int axis;
    char *first = start(m, w, a);
    const int lane = addresses(w, a, o + ATOMIC_index, at, &axis, &bad);
    if (lane >= 0) return out_of_bounds(m, w, in, o[ATOMIC_array], lane, axis, bad);
    if (misaligned(m, w, in, o[ATOMIC_array], ELEMENT_SIZE(a), at) >= 0) return FATAL;
    if (m->watch && observe(m, w, in, o[ATOMIC_array], ATOMIC, ELEMENT_SIZE(a), at, first, NULL)) return FATAL;
#define ATOMIC_AS(MT_, T, R, UPDATE)                                          \
    case MT_:                                                                 \
        ACTIVE (w->mask) {                                                    \
            T *p = (T *)(first + at[l]);                                      \
            const T old = *p, v = (T)LANE(R, o[ATOMIC_value], l);             \
            T new_;                                                           \
            UPDATE(R)                                                         \
            if (memcmp(&new_, &old, sizeof old)) w->idle = m->state->idle = 0; \
            *p = new_;                                                        \
            if (o[ATOMIC_result] != NONE) ((R *)reg(w, o[ATOMIC_result]))[l] = old; \
        }                                                                     \
        break;
    switch (a->memory_type) {
        ATOMIC_AS(M_i32, int32_t, int64_t, INTEGER_UPDATE)
        ATOMIC_AS(M_u32, uint32_t, int64_t, INTEGER_UPDATE)
        ATOMIC_AS(M_i64, int64_t, int64_t, INTEGER_UPDATE)
        ATOMIC_AS(M_u64, uint64_t, uint64_t, INTEGER_UPDATE)
        ATOMIC_AS(M_f32, float, float, FLOAT_UPDATE)
        ATOMIC_AS(M_f64, double, double, FLOAT_UPDATE)
        default: internal_error();
    }
    return MORE;
}
