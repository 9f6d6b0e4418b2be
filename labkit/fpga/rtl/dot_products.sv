// LANES dot products per cycle: each of PRODUCTS int8 inputs with the int8 weights of its lane.
//
// Ports   step: the registers move. x: PRODUCTS int8, shared by all lanes. w: LANES times PRODUCTS
//         int8, lane 0 lowest. sums: LANES signed numbers of SUM_BITS.
// Timing  Latency 2 + $clog2(PRODUCTS) steps: operands, product, and the tree of adders; LANES *
//         PRODUCTS multiplications per step.
// Lesson  a_multiply_accumulate_array.

module dot_products #(
  parameter  int LANES    = 2,
  parameter  int PRODUCTS = 9,
  localparam int SUM_BITS = 16 + $clog2(PRODUCTS)
) (
  input  logic                        clk,
  input  logic                        step,
  input  logic [PRODUCTS*8-1:0]       x,
  input  logic [LANES*PRODUCTS*8-1:0] w,
  output logic [LANES*SUM_BITS-1:0]   sums
);

  for (genvar lane = 0; lane < LANES; lane++) begin : gen_lanes
    logic [PRODUCTS*16-1:0] products;

    for (genvar p = 0; p < PRODUCTS; p++) begin : gen_products
      logic signed [7:0]  input_value;
      logic signed [7:0]  weight;
      logic signed [15:0] product;
      always_ff @(posedge clk) begin
        if (step) begin
          input_value <= x[p*8+:8];
          weight      <= w[(lane*PRODUCTS+p)*8+:8];
          product     <= input_value * weight;
        end
      end
      assign products[p*16+:16] = product;
    end

    if (PRODUCTS == 1) begin : gen_one
      assign sums[lane*SUM_BITS+:SUM_BITS] = products;
    end else begin : gen_tree
      adder_tree #(
        .TERMS  (PRODUCTS),
        .IN_BITS(16)
      ) u_tree (
        .clk  (clk),
        .step (step),
        .terms(products),
        .sum  (sums[lane*SUM_BITS+:SUM_BITS])
      );
    end
  end

endmodule
