// One multiply-accumulate unit: y = the sum of x * w over a packet, int8 * int8 -> int32.
//
// Ports   terms: stream of {w, x}, two int8 (x in the low byte); `terms_last` ends a sum.
//         y: stream of int32, one word for each packet.
// Timing  One term per cycle. y comes 2 cycles after the last term: one for the product, one for
//         the sum. While y waits, the unit stands still.
// Lesson  a_multiply_accumulate_array.

module mac (
  input  logic               clk,
  input  logic               rst,
  input  logic               terms_valid,
  output logic               terms_ready,
  input  logic        [15:0] terms_data,
  input  logic               terms_last,
  output logic               y_valid,
  input  logic               y_ready,
  output logic signed [31:0] y_data
);

  logic signed [7:0] x;
  logic signed [7:0] w;
  assign x = terms_data[7:0];
  assign w = terms_data[15:8];

  // Everything moves together, unless a finished sum waits to be taken.
  logic step;
  assign step        = !y_valid || y_ready;
  assign terms_ready = step;

  // Stage 1: the product.
  logic signed [15:0] product;
  logic               product_valid;
  logic               product_last;

  // Stage 2: the sum. `first`: the next product starts a new sum.
  logic signed [31:0] sum;
  logic               first;
  assign y_data = sum;

  always_ff @(posedge clk) begin
    if (rst) begin
      product_valid <= 1'b0;
      y_valid       <= 1'b0;
      first         <= 1'b1;
    end else if (step) begin
      product_valid <= terms_valid;
      y_valid       <= product_valid && product_last;
      if (product_valid) begin
        first <= product_last;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (step) begin
      product      <= x * w;
      product_last <= terms_last;
      if (product_valid) begin
        sum <= (first ? 32'sd0 : sum) + 32'(product);
      end
    end
  end

endmodule
