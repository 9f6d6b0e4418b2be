// The sum of TERMS numbers by a tree of adders, with a register behind each level.
//
// The tree is numbered like a heap: node n adds nodes 2n and 2n + 1, node 1 is the root, and the
// terms are the nodes from LEAVES on. Leaves without a term are 0, and synthesis removes them.
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

  // Node n lies in bits n * OUT_BITS and up; there is no node 0.
  logic [2*Leaves*OUT_BITS-1:OUT_BITS] nodes;

  for (genvar leaf = 0; leaf < Leaves; leaf++) begin : gen_leaves
    if (leaf < TERMS) begin : gen_term
      logic signed [IN_BITS-1:0] term;
      assign term = terms[leaf*IN_BITS+:IN_BITS];
      assign nodes[(Leaves+leaf)*OUT_BITS+:OUT_BITS] = OUT_BITS'(term);
    end else begin : gen_zero
      assign nodes[(Leaves+leaf)*OUT_BITS+:OUT_BITS] = '0;
    end
  end

  for (genvar n = 1; n < Leaves; n++) begin : gen_adders
    logic [OUT_BITS-1:0] total;
    always_ff @(posedge clk) begin
      if (step) begin
        total <= nodes[2*n*OUT_BITS+:OUT_BITS] + nodes[(2*n+1)*OUT_BITS+:OUT_BITS];
      end
    end
    assign nodes[n*OUT_BITS+:OUT_BITS] = total;
  end

  assign sum = nodes[OUT_BITS+:OUT_BITS];

endmodule
