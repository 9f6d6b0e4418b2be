// Keeps a layer's weights on the chip: filled from a stream once, then given again and again.
//
// Ports   w: stream of DEPTH words of WIDTH bits, taken once; a reset asks for new ones.
//         y: stream of the same words in the same order, for one image after the other.
// Timing  One word of w per cycle. Then one word of y per cycle; the first comes 2 cycles after
//         the last word of w.
// Lesson  folding_under_a_budget.

module weight_store #(
  parameter int WIDTH   = 64,
  parameter int DEPTH   = 65536,
  parameter bit IN_LUTS = 1'b0
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             w_valid,
  output logic             w_ready,
  input  logic [WIDTH-1:0] w_data,
  output logic             y_valid,
  input  logic             y_ready,
  output logic [WIDTH-1:0] y_data
);

  localparam int AddressBits = (DEPTH > 1) ? $clog2(DEPTH) : 1;

  logic                   full;
  logic                   ask;
  logic [AddressBits-1:0] address;
  assign ask = full && (!y_valid || y_ready);

  always_ff @(posedge clk) begin
    if (rst) begin
      address <= '0;
      y_valid <= 1'b0;
    end else if (ask) begin
      address <= (address == AddressBits'(DEPTH - 1)) ? '0 : address + 1'b1;
      y_valid <= 1'b1;
    end
  end

  memory_bank #(
    .WIDTH   (WIDTH),
    .MEMORIES(1),
    .DEPTH   (DEPTH),
    .IN_LUTS (IN_LUTS)
  ) u_memory (
    .clk    (clk),
    .rst    (rst),
    .w_valid(w_valid),
    .w_ready(w_ready),
    .w_data (w_data),
    .full   (full),
    .read   (ask),
    .address(address),
    .words  (y_data)
  );

endmodule
