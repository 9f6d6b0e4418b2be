// From windows of nine pixels to pixels: the weighted sum of each, rounded, and limited to a byte.
//
//   y = clamp((sum over the nine taps of weight * pixel + half) >> shift), to 0..255
//
// half is 1 << (shift - 1), so that the shift rounds to the nearest, and halves upwards; it is 0
// where nothing is shifted. No sum overflows: 9 * 255 * 128 fits.
//
// Ports   weights: nine int8, tap by tap as in window_3x3; shift: 0 to 127. Both are held.
//         x: stream of nine unsigned bytes. y: stream of unsigned bytes. Both with `last`.
// Timing  One word per cycle, latency 8: product, four levels of the tree of adders, half, shift,
//         clamp. While y waits, everything stands still.
// Lesson  video_in_video_out.

module filter_window (
  input  logic        clk,
  input  logic        rst,
  input  logic [71:0] weights,
  input  logic [7:0]  shift,
  input  logic        x_valid,
  output logic        x_ready,
  input  logic [71:0] x_data,
  input  logic        x_last,
  output logic        y_valid,
  input  logic        y_ready,
  output logic [7:0]  y_data,
  output logic        y_last
);

  localparam int SumBits = 22;  // those of the sum, of half, and of both together

  // Everything moves together, unless a result waits to be taken.
  logic step;
  assign step    = !y_valid || y_ready;
  assign x_ready = step;

  delay_line #(
    .WIDTH(2),
    .STEPS(8)
  ) u_flags (
    .clk (clk),
    .rst (rst),
    .step(step),
    .d   ({x_last, x_valid}),
    .q   ({y_last, y_valid})
  );

  // ---- Stage 1: the products. A pixel has no sign, so it gets one bit more, which is 0.
  logic [9*16-1:0] products;

  for (genvar tap = 0; tap < 9; tap++) begin : gen_products
    logic signed [8:0]  pixel;
    logic signed [7:0]  weight;
    logic signed [15:0] product;
    assign pixel  = {1'b0, x_data[tap*8+:8]};
    assign weight = weights[tap*8+:8];
    always_ff @(posedge clk) begin
      if (step) begin
        product <= pixel * weight;
      end
    end
    assign products[tap*16+:16] = product;
  end

  // ---- Stages 2 to 5: their sum.
  logic signed [19:0] sum;

  adder_tree #(
    .TERMS  (9),
    .IN_BITS(16)
  ) u_tree (
    .clk  (clk),
    .step (step),
    .terms(products),
    .sum  (sum)
  );

  // ---- Stages 6 to 8: a byte again.
  logic signed [SumBits-1:0] half;
  logic signed [SumBits-1:0] rounded;
  logic signed [SumBits-1:0] shifted;

  always_ff @(posedge clk) begin
    half <= (SumBits'(1) << shift) >> 1;
  end

  always_ff @(posedge clk) begin
    if (step) begin
      rounded <= SumBits'(sum) + half;
      shifted <= rounded >>> shift;
      if (shifted < 0) begin
        y_data <= 8'd0;
      end else if (shifted > 255) begin
        y_data <= 8'd255;
      end else begin
        y_data <= shifted[7:0];
      end
    end
  end

endmodule
