// Clocks a design, offers and takes words under valid/ready, and records signals.
//
// Python makes a Run of a Job and lets it advance by many cycles; nothing here calls Python.

#include "streams.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "bench.h"

namespace {

const size_t most_violations = 100;

bool withheld(const Stalls& stalls, int64_t cycle) {
  return stalls.length && stalls.pattern[cycle % stalls.length];
}

// A word is offered until it is taken; the pattern only delays the beginning of an offer.
class Offer {
 public:
  explicit Offer(const Offered& stream) : stream(stream) {}

  void before_settling(Bench& bench, int64_t cycle) {
    if (!result.valid) result.valid = !through() && !withheld(stream.stalls, cycle);
    bench.set_bit(stream.valid, result.valid);
    if (!result.valid) return;
    bench.set(stream.data, stream.values + result.count * stream.words);
    if (stream.last >= 0) bench.set_bit(stream.last, stream.lasts[result.count]);
  }

  void after_settling(Bench& bench) {
    result.ready = bench.get_bit(stream.ready);
    moved = result.valid && result.ready;
  }

  void after_edge() {
    if (!moved) return;
    result.count++;
    result.valid = 0;
  }

  bool through() const { return result.count == stream.count; }

  OfferResult result = {};
  bool moved = false;

 private:
  const Offered stream;
};

// Takes words, and watches that the design holds an offered one until it is taken.
class Take {
 public:
  explicit Take(const Taken& stream)
      : wanted(stream.wanted), stream(stream), word(stream.words + 1) {}

  void before_settling(Bench& bench, int64_t cycle) {
    result.ready = !withheld(stream.stalls, cycle);
    bench.set_bit(stream.ready, result.ready);
  }

  void after_settling(Bench& bench, int64_t cycle) {
    bool waited = result.valid && !moved;  // a word of the cycle before is still to be taken
    result.valid = bench.get_bit(stream.valid);
    bench.get(stream.data, word.data());
    word.back() = stream.last >= 0 && bench.get_bit(stream.last);
    violation = -1;
    if (waited && !result.valid) violation = 0;
    if (waited && result.valid && word != offered) violation = 1;
    offered = word;
    moved = result.valid && result.ready;
    if (moved) keep(cycle);
  }

  bool has_wanted() const { return int64_t(times.size()) >= wanted; }
  bool waits() const { return result.valid && !result.ready; }
  bool lacks_last() const { return stream.last >= 0 && (lasts.empty() || !lasts.back()); }

  TakeResult read() {
    result.count = times.size();
    result.values = values.data();
    result.times = times.data();
    result.lasts = lasts.data();
    return result;
  }

  const int64_t wanted;
  bool moved = false;
  int violation = -1;  // of this cycle

 private:
  void keep(int64_t cycle) {
    values.insert(values.end(), word.begin(), word.end() - 1);
    lasts.push_back(word.back());
    times.push_back(cycle);
  }

  const Taken stream;
  TakeResult result = {};
  std::vector<uint32_t> word, offered;  // the data, and `last` behind them
  std::vector<uint32_t> values;
  std::vector<uint8_t> lasts;
  std::vector<int64_t> times;
};

// The last `rows` cycles of the recorded signals, in a ring.
class Record {
 public:
  Record(const Job& job, Bench& bench)
      : signals(job.recorded, job.recorded + job.recorded_count), rows(job.rows) {
    for (Recorded& signal : signals) {
      int bits;
      if (signal.name) signal.port = bench.find(signal.name, &bits);
      width += signal.words;
    }
  }

  void write(Bench& bench, int64_t cycle) {
    if (!width || !rows) return;
    if (cycle < rows) values.resize((cycle + 1) * width);
    uint32_t* place = &values[cycle % rows * width];
    for (const Recorded& signal : signals) {
      bench.get(signal.port, place);
      place += signal.words;
    }
  }

  const uint32_t* read() const { return values.data(); }

 private:
  std::vector<Recorded> signals;
  int64_t rows, width = 0;
  std::vector<uint32_t> values;
};

}  // namespace

class Run {
 public:
  explicit Run(const Job& job)
      : bench(job.model, job.clock, job.reset),
        job(job),
        plain(job.plain, job.plain + job.plain_count),
        record(job, bench) {}

  // Up to `cycles` further ones; the design is reset before the first.
  Ending advance(int64_t cycles) {
    if (cycle == 0 && !start()) return OSCILLATES;
    int64_t end = std::min(cycle + cycles, job.limit);
    while (!is_finished()) {
      if (cycle == job.limit || is_idle()) return AT_LIMIT;
      if (cycle == end) return GOING_ON;
      if (!step()) return OSCILLATES;
    }
    return FINISHED;
  }

  Result read() const {
    return {cycle, last_moved, int64_t(violations.size()), violations.data(), record.read()};
  }

  Bench bench;
  std::deque<Offer> offers;
  std::deque<Take> takes;

 private:
  // The reset; where a second one is asked for, some cycles in between, of which nothing is kept.
  bool start() {
    if (!begin()) return false;
    if (!job.again_after) return true;
    while (cycle < job.again_after)
      if (!step()) return false;
    return begin();
  }

  // No word has moved, none is on offer, and the design is reset.
  bool begin() {
    offers.clear();
    takes.clear();
    violations.clear();
    for (int i = 0; i < job.offered_count; i++) offers.emplace_back(job.offered[i]);
    for (int i = 0; i < job.taken_count; i++) takes.emplace_back(job.taken[i]);
    for (int i = 0; i < job.offered_count; i++) bench.set_bit(job.offered[i].valid, 0);
    for (int i = 0; i < job.taken_count; i++) bench.set_bit(job.taken[i].ready, 0);
    cycle = 0;
    last_moved = -1;
    set_plain_inputs();
    return bench.go_through_reset();
  }

  void set_plain_inputs() {
    for (const Plain& input : plain) {
      int64_t row = std::min(cycle, input.count - 1);
      bench.set(input.port, input.values + row * input.words);
    }
  }

  // One clock cycle: the inputs change, all logic settles, words move at the rising edge.
  bool step() {
    set_plain_inputs();
    for (Offer& offer : offers) offer.before_settling(bench, cycle);
    for (Take& take : takes) take.before_settling(bench, cycle);
    if (!bench.edge(0)) return false;
    for (Offer& offer : offers) offer.after_settling(bench);
    for (Take& take : takes) take.after_settling(bench, cycle);
    note_moves();
    record.write(bench, cycle);
    if (!bench.edge(1)) return false;
    for (Offer& offer : offers) offer.after_edge();
    cycle++;
    return true;
  }

  void note_moves() {
    for (Offer& offer : offers)
      if (offer.moved) last_moved = cycle;
    for (size_t i = 0; i < takes.size(); i++) {
      if (takes[i].moved) last_moved = cycle;
      if (takes[i].violation >= 0 && violations.size() < most_violations)
        violations.push_back({cycle, int(i), takes[i].violation});
    }
  }

  bool is_finished() const {
    if (job.cycles >= 0) return cycle >= job.cycles;
    if (cycle < job.at_least) return false;
    bool counts = false, all = true;
    for (const Take& take : takes) {
      counts |= take.wanted >= 0;
      all &= take.has_wanted();
    }
    return counts ? all : is_quiet();
  }

  // No word has moved for so long that none will.
  bool is_idle() const {
    return job.idle && cycle >= job.at_least && cycle - 1 - last_moved >= job.idle;
  }

  // Everything is taken, nothing is on its way out, and that for a while.
  bool is_quiet() const {
    if (cycle - 1 - last_moved < job.quiet) return false;
    bool any = last_moved >= 0;
    for (const Offer& offer : offers)
      if (!offer.through()) return false;
    for (const Take& take : takes)
      if (take.waits() || (any && take.lacks_last())) return false;
    return true;
  }

  const Job job;
  std::vector<Plain> plain;
  Record record;
  int64_t cycle = 0, last_moved = -1;
  std::vector<Violation> violations;
};

#pragma GCC visibility push(default)
extern "C" {
Run* run_new(const Job* job) { return new Run(*job); }
void run_free(Run* run) { delete run; }
int run_advance(Run* run, int64_t cycles) { return run->advance(cycles); }
void run_result(Run* run, Result* result) { *result = run->read(); }
void run_offer(Run* run, int stream, OfferResult* result) { *result = run->offers[stream].result; }
void run_take(Run* run, int stream, TakeResult* result) { *result = run->takes[stream].read(); }
}
