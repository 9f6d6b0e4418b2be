// Runs one job after the other: starts it, watches its stream, counts its cycles, ends it.
//
// What goes wrong ends the job too, with a bit of the status, so that nobody waits for ever:
//   OTHER_NETWORK  beat 0 is not NETWORK: the packet is discarded
//   TOO_SHORT      `last` came too early
//   TOO_LONG       the last beat had no `last`: what follows is discarded up to one that has it
// After the first two a single word of zeros ends the output; after the third the results are
// right. Without any `last` the job stays busy, until a `stop`.
//
// Ports   start, stop, images, status, cycles, beats_in, beats_out: see control_registers.
//         in: the stream of the job. at_first, at_end, beat_ready: of section_router, which takes
//         a beat when beat_valid and beat_ready are 1. result: what the network gives. out: the
//         same, with `last`. core_rst: resets all layers, and is a register.
// Timing  Result words pass a skid buffer. `cycles` counts while BUSY: from the cycle after the
//         START to the one in which the last word goes out or the last beat comes in.
// Lesson  the_network_as_a_pipeline.

module job_control #(
  parameter bit [63:0] NETWORK          = 64'd0,
  parameter int        WORDS_PER_RESULT = 5
) (
  input  logic        clk,
  input  logic        rst,
  input  logic        start,
  input  logic        stop,
  input  logic [15:0] images,
  output logic [6:0]  status,
  output logic [31:0] cycles,
  output logic [31:0] beats_in,
  output logic [31:0] beats_out,
  output logic [15:0] job_images,
  output logic        core_rst,
  input  logic        in_valid,
  output logic        in_ready,
  input  logic [63:0] in_data,
  input  logic        in_last,
  input  logic        at_first,
  input  logic        at_end,
  output logic        beat_valid,
  input  logic        beat_ready,
  input  logic        result_valid,
  output logic        result_ready,
  input  logic [63:0] result_data,
  output logic        out_valid,
  input  logic        out_ready,
  output logic [63:0] out_data,
  output logic        out_last
);

  typedef enum logic [2:0] {
    Idle,
    Clear,    // the layers are reset
    Stream,   // beats go to the layers
    Discard,  // beats go nowhere, up to the last one
    Finish,   // all beats are in, results are on their way
    GiveUp    // a word of zeros ends the output
  } state_t;

  state_t state;
  logic   busy;
  logic   done;
  logic   start_while_busy;
  logic   no_images;
  logic   other_network;
  logic   too_short;
  logic   too_long;
  logic   failed;
  assign busy   = state != Idle;
  assign failed = other_network || too_short;
  assign status = {too_long, too_short, other_network, no_images, start_while_busy, done, busy};

  // ---- The input: a beat moves into a layer, or is discarded.
  logic beat;
  logic is_other;
  assign beat_valid = (state == Stream) && in_valid;
  assign in_ready   = (state == Discard) || ((state == Stream) && beat_ready);
  assign beat       = in_valid && in_ready;
  assign is_other   = at_first && (in_data != NETWORK);

  // ---- The output: registers, so that an offered word stays even if the job fails. Only a `stop`
  // withdraws it. Between two jobs the layers are held in reset: nothing of one reaches the next.
  logic [2:0]  word;         // of this image's result
  logic [15:0] images_left;  // whose results are not all out
  logic        last_word;
  logic        give_valid;
  logic        give_ready;
  logic        give_last;
  logic        out_moves;
  logic        ended;    // the last word has gone out
  logic        all_out;  // it has, or goes in this cycle
  logic        all_in;   // the last one of too many beats comes in this cycle
  assign give_valid   = (state == GiveUp) || (result_valid && busy && !failed && !core_rst);
  assign give_last    = (state == GiveUp) || (last_word && (images_left == 16'd1));
  assign last_word    = word == 3'(WORDS_PER_RESULT - 1);
  assign result_ready = give_ready && (state != GiveUp);
  assign out_moves    = out_valid && out_ready;
  assign all_out      = ended || (out_moves && out_last);
  assign all_in       = (state == Discard) && beat && in_last && !failed;

  // It is still 1 in the cycle after Idle, that of Clear.
  always_ff @(posedge clk) begin
    core_rst <= rst || stop || !busy || failed;
  end

  skid_buffer #(
    .WIDTH(65)
  ) u_output (
    .clk      (clk),
    .rst      (rst || stop),
    .in_valid (give_valid),
    .in_ready (give_ready),
    .in_data  ({give_last, (state == GiveUp) ? 64'd0 : result_data}),
    .out_valid(out_valid),
    .out_ready(out_ready),
    .out_data ({out_last, out_data})
  );

  // ---- The job.
  always_ff @(posedge clk) begin
    if (rst || stop) begin
      state <= Idle;
    end else begin
      case (state)
        Idle: begin
          if (start && (images != '0)) begin
            state <= Clear;
          end
        end
        Clear: state <= Stream;
        Stream: begin
          if (beat && is_other) begin
            state <= in_last ? GiveUp : Discard;
          end else if (beat && at_end) begin
            state <= in_last ? Finish : Discard;
          end else if (beat && in_last) begin
            state <= GiveUp;
          end
        end
        Discard: begin
          if (beat && in_last) begin
            state <= failed ? GiveUp : all_out ? Idle : Finish;
          end
        end
        Finish: begin
          if (all_out) begin
            state <= Idle;
          end
        end
        default: begin
          if (give_ready) begin
            state <= Finish;
          end
        end
      endcase
    end
  end

  always_ff @(posedge clk) begin
    if (rst || stop) begin
      done             <= 1'b0;
      start_while_busy <= 1'b0;
      no_images        <= 1'b0;
      other_network    <= 1'b0;
      too_short        <= 1'b0;
      too_long         <= 1'b0;
      ended            <= 1'b0;
      word             <= '0;
      images_left      <= '0;
      job_images       <= '0;
      cycles           <= '0;
      beats_in         <= '0;
      beats_out        <= '0;
    end else if (start && !busy) begin
      done             <= 1'b0;
      start_while_busy <= 1'b0;
      no_images        <= images == '0;
      other_network    <= 1'b0;
      too_short        <= 1'b0;
      too_long         <= 1'b0;
      ended            <= 1'b0;
      word             <= '0;
      images_left      <= images;
      job_images       <= images;
      cycles           <= '0;
      beats_in         <= '0;
      beats_out        <= '0;
    end else if (busy) begin
      cycles <= &cycles ? cycles : cycles + 1'b1;
      if (start) begin
        start_while_busy <= 1'b1;
      end
      if (beat) begin
        beats_in <= &beats_in ? beats_in : beats_in + 1'b1;
      end
      if (beat && (state == Stream)) begin
        other_network <= is_other;
        too_short     <= in_last && !at_end && !is_other;
        too_long      <= at_end && !in_last;
      end
      if (give_valid && give_ready) begin
        word <= last_word ? '0 : word + 1'b1;
        if (last_word) begin
          images_left <= images_left - 1'b1;
        end
      end
      if (out_moves) begin
        beats_out <= beats_out + 1'b1;
        ended     <= out_last;
      end
      if ((all_in || (state == Finish)) && all_out) begin
        done <= 1'b1;
      end
    end
  end

endmodule
