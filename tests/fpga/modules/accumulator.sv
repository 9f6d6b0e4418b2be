// The sum of each packet of signed words, given with the packet's last one.
module accumulator #(
    parameter int WIDTH = 8
) (
    input  logic                    clk,
    input  logic                    rst,
    input  logic                    x_valid,
    output logic                    x_ready,
    input  logic signed [WIDTH-1:0] x_data,
    input  logic                    x_last,
    output logic                    y_valid,
    input  logic                    y_ready,
    output logic signed [31:0]      y_data
);
  logic signed [31:0] sum, next;
  assign next = sum + 32'(x_data);
  assign x_ready = !y_valid || y_ready;
  always_ff @(posedge clk) begin
    if (rst) begin
      y_valid <= 0;
      sum <= 0;
    end else if (x_ready) begin
      y_valid <= x_valid && x_last;
      if (x_valid) begin
        sum <= x_last ? 0 : next;
        if (x_last) y_data <= next;
      end
    end
  end
endmodule
