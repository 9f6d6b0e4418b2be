// LANES multiply-accumulate units, each with PRODUCTS products per cycle.
//
// Lane k sums x[p] * w[k][p] over all p of a word and all words of a packet: int8 * int8 -> int32.
// The inputs x are shared by the lanes; each lane has weights of its own.
//
// Ports   terms: stream of {w, x}. x: PRODUCTS int8 in the low bits. w: LANES times PRODUCTS int8,
//         lane 0 lowest. `terms_last` ends the sums.
//         y: stream of LANES int32, one word for each packet.
// Timing  One word per cycle. y comes 3 + $clog2(PRODUCTS) cycles after the last word of a packet:
//         operands, product, tree of adders, sum. While y waits, the array stands still.
// Lesson  a_multiply_accumulate_array.

module mac_array #(
  parameter  int LANES     = 4,
  parameter  int PRODUCTS  = 8,
  localparam int TERM_BITS = (LANES + 1) * PRODUCTS * 8
) (
  input  logic                 clk,
  input  logic                 rst,
  input  logic                 terms_valid,
  output logic                 terms_ready,
  input  logic [TERM_BITS-1:0] terms_data,
  input  logic                 terms_last,
  output logic                 y_valid,
  input  logic                 y_ready,
  output logic [LANES*32-1:0]  y_data
);

  localparam int DotSteps = 2 + $clog2(PRODUCTS);
  localparam int DotBits  = 16 + $clog2(PRODUCTS);

  // Everything moves together, unless finished sums wait to be taken.
  logic step;
  assign step        = !y_valid || y_ready;
  assign terms_ready = step;

  // The dot products of one word, and beside them whether they are valid and the last.
  logic [LANES*DotBits-1:0] dots;
  logic                     dots_valid;
  logic                     dots_last;

  dot_products #(
    .LANES   (LANES),
    .PRODUCTS(PRODUCTS)
  ) u_dot_products (
    .clk (clk),
    .step(step),
    .x   (terms_data[PRODUCTS*8-1:0]),
    .w   (terms_data[TERM_BITS-1:PRODUCTS*8]),
    .sums(dots)
  );

  delay_line #(
    .WIDTH(2),
    .STEPS(DotSteps)
  ) u_flags (
    .clk (clk),
    .rst (rst),
    .step(step),
    .d   ({terms_last, terms_valid}),
    .q   ({dots_last, dots_valid})
  );

  // `first`: the next dot products start new sums.
  logic first;

  always_ff @(posedge clk) begin
    if (rst) begin
      y_valid <= 1'b0;
      first   <= 1'b1;
    end else if (step) begin
      y_valid <= dots_valid && dots_last;
      if (dots_valid) begin
        first <= dots_last;
      end
    end
  end

  for (genvar lane = 0; lane < LANES; lane++) begin : gen_sums
    logic signed [DotBits-1:0] dot;
    logic signed [31:0]        sum;
    assign dot = dots[lane*DotBits+:DotBits];
    always_ff @(posedge clk) begin
      if (step && dots_valid) begin
        sum <= (first ? 32'sd0 : sum) + 32'(dot);
      end
    end
    assign y_data[lane*32+:32] = sum;
  end

endmodule
