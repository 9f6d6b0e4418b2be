// The multiply-accumulate units of a convolution, made of the learner's `mac_array` of lesson 2.
//
// The learner's array takes one product per lane and cycle. So there is one array for each of the
// PRODUCTS products of a word: all get the same valid and ready, and therefore move together.
// A tree of adders joins their sums.
//
// Ports   Those of `mac_array`, for PRODUCTS of 2 or more.
// Timing  That of the learner's array, and $clog2(PRODUCTS) cycles of the tree.
// Lesson  the_network_on_the_board.

module own_mac_array #(
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

  localparam int SumBits = 32 + $clog2(PRODUCTS);

  logic                         step;  // of the tree
  logic [PRODUCTS-1:0]          ready;
  logic [PRODUCTS-1:0]          valid;
  logic [LANES*PRODUCTS*32-1:0] sums;  // a lane's side by side
  logic                         unused_others;
  assign step          = !y_valid || y_ready;
  assign terms_ready   = ready[0];
  assign unused_others = &{1'b0, ready, valid};

  for (genvar p = 0; p < PRODUCTS; p++) begin : gen_products
    logic [LANES*8-1:0]  weights;
    logic [LANES*32-1:0] of_lanes;

    mac_array #(
      .LANES(LANES)
    ) u_array (
      .clk        (clk),
      .rst        (rst),
      .terms_valid(terms_valid),
      .terms_ready(ready[p]),
      .terms_data ({weights, terms_data[p*8+:8]}),
      .terms_last (terms_last),
      .y_valid    (valid[p]),
      .y_ready    (step),
      .y_data     (of_lanes)
    );

    for (genvar lane = 0; lane < LANES; lane++) begin : gen_lanes
      assign weights[lane*8+:8]             = terms_data[((lane+1)*PRODUCTS+p)*8+:8];
      assign sums[(lane*PRODUCTS+p)*32+:32] = of_lanes[lane*32+:32];
    end
  end

  for (genvar lane = 0; lane < LANES; lane++) begin : gen_trees
    logic signed [SumBits-1:0] total;
    logic                      unused_high;
    assign y_data[lane*32+:32] = total[31:0];
    assign unused_high         = &{1'b0, total[SumBits-1:32]};

    adder_tree #(
      .TERMS  (PRODUCTS),
      .IN_BITS(32)
    ) u_tree (
      .clk  (clk),
      .step (step),
      .terms(sums[lane*PRODUCTS*32+:PRODUCTS*32]),
      .sum  (total)
    );
  end

  delay_line #(
    .WIDTH(1),
    .STEPS($clog2(PRODUCTS))
  ) u_valid (
    .clk (clk),
    .rst (rst),
    .step(step),
    .d   (valid[0]),
    .q   (y_valid)
  );

endmodule
