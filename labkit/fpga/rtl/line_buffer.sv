// Remembers the last row of a picture: hands on the word that came in LENGTH steps ago.
//
// Ports   step: a word comes in. d: this word. q: the word of LENGTH steps ago.
//         Before LENGTH steps have been made q is undefined: a memory has no reset.
// Timing  One word per step. The memory is read one step ahead, so synthesis may make it a block
//         RAM; a short one becomes LUTs.
// Lesson  a_convolution_as_a_stream.

module line_buffer #(
  parameter int WIDTH  = 8,
  parameter int LENGTH = 33
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             step,
  input  logic [WIDTH-1:0] d,
  output logic [WIDTH-1:0] q
);

  localparam int AddressBits = $clog2(LENGTH);

  (* no_rw_check *)  // the two addresses always differ
  logic [WIDTH-1:0]       words [LENGTH];
  logic [AddressBits-1:0] now;
  logic [AddressBits-1:0] next;

  assign next = (now == AddressBits'(LENGTH - 1)) ? '0 : now + 1'b1;

  always_ff @(posedge clk) begin
    if (rst) begin
      now <= '0;
    end else if (step) begin
      now <= next;
    end
  end

  always_ff @(posedge clk) begin
    if (step) begin
      words[now] <= d;
      q          <= words[next];  // the oldest word, which the next step will write over
    end
  end

endmodule
