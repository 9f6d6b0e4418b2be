// Hands on one wide word as GROUPS narrow ones, the lowest first: the opposite of gather.
//
// Ports   x: stream of GROUPS * WIDTH bits. y: stream of WIDTH bits.
// Timing  One word of y per cycle, in the cycle in which x offers it; x is taken with its last
//         part.
// Lesson  the_network_as_a_pipeline.

module narrow #(
  parameter int WIDTH  = 32,
  parameter int GROUPS = 2
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    x_valid,
  output logic                    x_ready,
  input  logic [GROUPS*WIDTH-1:0] x_data,
  output logic                    y_valid,
  input  logic                    y_ready,
  output logic [WIDTH-1:0]        y_data
);

  localparam int GroupBits = (GROUPS > 1) ? $clog2(GROUPS) : 1;

  logic [GroupBits-1:0] group;
  logic                 last_group;
  assign last_group = group == GroupBits'(GROUPS - 1);

  assign y_valid = x_valid;
  assign x_ready = y_ready && last_group;
  assign y_data  = x_data[group*WIDTH+:WIDTH];

  always_ff @(posedge clk) begin
    if (rst) begin
      group <= '0;
    end else if (y_valid && y_ready) begin
      group <= last_group ? '0 : group + 1'b1;
    end
  end

endmodule
