// The sum of TERMS numbers by a tree of adders, with a register behind each level.
//
// Node 1 is the root, node n adds nodes 2n and 2n + 1, and the terms are the nodes from Leaves on.
// A leaf without a term is 0, and synthesis removes it.
//
// Ports   step: the registers move. terms: TERMS (2 or more) signed numbers of IN_BITS, the first
//         one lowest.
//         sum: signed, $clog2(TERMS) bits wider than a term, so it never overflows.
// Timing  Latency $clog2(TERMS) steps, one sum per step.
// Lesson  a_multiply_accumulate_array.

module adder_tree #(
  parameter  int TERMS    = 9,
  parameter  int IN_BITS  = 16,
  localparam int OUT_BITS = IN_BITS + $clog2(TERMS)
) (
  input  logic                       clk,
  input  logic                       step,
  input  logic [TERMS*IN_BITS-1:0]   terms,
  output logic signed [OUT_BITS-1:0] sum
);

  localparam int Leaves = 1 << $clog2(TERMS);

  // Each level is one bit wider than the one before it: a bit that no sum needs would be without a
  // driver after Yosys has put an adder into a DSP.
  for (genvar n = 2 * Leaves - 1; n >= 1; n--) begin : gen_nodes
    localparam int Bits = OUT_BITS + 1 - $clog2(n + 1);
    logic signed [Bits-1:0] value;
    if (n >= Leaves + TERMS) begin : gen_zero
      assign value = '0;
    end else if (n >= Leaves) begin : gen_leaf
      logic signed [IN_BITS-1:0] term;
      assign term  = terms[(n-Leaves)*IN_BITS+:IN_BITS];
      assign value = term;
    end else begin : gen_adder
      always_ff @(posedge clk) begin
        if (step) begin
          value <= Bits'(gen_nodes[2*n].value) + Bits'(gen_nodes[2*n+1].value);
        end
      end
    end
  end

  assign sum = gen_nodes[1].value;

endmodule
