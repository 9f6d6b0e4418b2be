// Counts the cycles in which `go` is 1, and wraps at MODULUS.
module counter #(
    parameter int MODULUS = 10
) (
    input  logic       clk,
    input  logic       rst,
    input  logic       go,
    output logic [7:0] count,
    output logic       wraps
);
  assign wraps = go && count == 8'(MODULUS - 1);
  always_ff @(posedge clk) begin
    if (rst || wraps) count <= 0;
    else if (go) count <= count + 1;
  end
endmodule
