// A queue of DEPTH words (a power of two) in a memory; the end of a packet goes with its word.
module fifo #(
    parameter int DEPTH = 8,
    parameter int WIDTH = 12
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             x_valid,
    output logic             x_ready,
    input  logic [WIDTH-1:0] x_data,
    input  logic             x_last,
    output logic             y_valid,
    input  logic             y_ready,
    output logic [WIDTH-1:0] y_data,
    output logic             y_last
);
  localparam int BITS = $clog2(DEPTH);
  logic [WIDTH:0] memory[0:DEPTH-1];
  logic [BITS:0] first, free;
  assign x_ready = free - first != (BITS + 1)'(DEPTH);
  assign y_valid = free != first;
  assign {y_last, y_data} = memory[first[BITS-1:0]];
  always_ff @(posedge clk) begin
    if (x_valid && x_ready) memory[free[BITS-1:0]] <= {x_last, x_data};
    if (rst) begin
      first <= 0;
      free <= 0;
    end else begin
      if (x_valid && x_ready) free <= free + 1;
      if (y_valid && y_ready) first <= first + 1;
    end
  end
endmodule
