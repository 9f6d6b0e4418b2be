// A skid buffer: both sides registered, a word per cycle.
module skid #(
    parameter int WIDTH = 8
) (
    input  logic                    clk,
    input  logic                    rst,
    input  logic                    x_valid,
    output logic                    x_ready,
    input  logic signed [WIDTH-1:0] x_data,
    output logic                    y_valid,
    input  logic                    y_ready,
    output logic signed [WIDTH-1:0] y_data
);
  logic full;
  logic signed [WIDTH-1:0] held;
  assign x_ready = !full;
  always_ff @(posedge clk) begin
    if (rst) begin
      y_valid <= 0;
      full <= 0;
    end else begin
      if (x_valid && x_ready && y_valid && !y_ready) begin
        full <= 1;
        held <= x_data;
      end
      if (y_ready || !y_valid) begin
        y_valid <= full || x_valid;
        y_data <= full ? held : x_data;
        full <= 0;
      end
    end
  end
endmodule
