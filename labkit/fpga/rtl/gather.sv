// Gathers GROUPS words of a stream into one wide word: the channels of a pixel, for a convolution.
//
// Ports   x: stream of WIDTH bits. y: stream of GROUPS * WIDTH bits, the first word of x lowest.
// Timing  One word of x per cycle; y comes 1 cycle after its last word.
// Lesson  a_convolution_as_a_stream.

module gather #(
  parameter int WIDTH  = 8,
  parameter int GROUPS = 32
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    x_valid,
  output logic                    x_ready,
  input  logic [WIDTH-1:0]        x_data,
  output logic                    y_valid,
  input  logic                    y_ready,
  output logic [GROUPS*WIDTH-1:0] y_data
);

  localparam int GroupBits = (GROUPS > 1) ? $clog2(GROUPS) : 1;

  logic [GroupBits-1:0] group;
  logic                 last_group;
  assign last_group = group == GroupBits'(GROUPS - 1);
  assign x_ready    = !y_valid || y_ready;

  always_ff @(posedge clk) begin
    if (rst) begin
      group   <= '0;
      y_valid <= 1'b0;
    end else if (x_ready) begin
      y_valid <= x_valid && last_group;
      if (x_valid) begin
        group <= last_group ? '0 : group + 1'b1;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (x_valid && x_ready) begin
      y_data[group*WIDTH+:WIDTH] <= x_data;
    end
  end

endmodule
