// MEMORIES memories side by side: filled from a stream once, then read all at the same address.
//
// Ports   w: stream of MEMORIES * DEPTH words of WIDTH bits: for each address one word for each
//         memory. full: all words are there, until a reset.
//         read, address: fetch one word from each memory. words: these, memory 0 lowest.
// Timing  One word of the stream per cycle. words come one cycle after read.
// Lesson  a_convolution_as_a_stream.

module memory_bank #(
  parameter  int WIDTH        = 24,
  parameter  int MEMORIES     = 9,
  parameter  int DEPTH        = 32,
  parameter  bit IN_LUTS      = 1'b0,
  localparam int ADDRESS_BITS = (DEPTH > 1) ? $clog2(DEPTH) : 1
) (
  input  logic                      clk,
  input  logic                      rst,
  input  logic                      w_valid,
  output logic                      w_ready,
  input  logic [WIDTH-1:0]          w_data,
  output logic                      full,
  input  logic                      read,
  input  logic [ADDRESS_BITS-1:0]   address,
  output logic [MEMORIES*WIDTH-1:0] words
);

  localparam int ChoiceBits = (MEMORIES > 1) ? $clog2(MEMORIES) : 1;

  // Where the next word of the stream goes.
  logic [ChoiceBits-1:0]   choice;
  logic [ADDRESS_BITS-1:0] write_address;
  logic                    last_choice;
  logic                    last_address;
  logic                    write;

  assign last_choice  = choice == ChoiceBits'(MEMORIES - 1);
  assign last_address = write_address == ADDRESS_BITS'(DEPTH - 1);
  assign w_ready      = !full;
  assign write        = w_valid && w_ready;

  always_ff @(posedge clk) begin
    if (rst) begin
      choice        <= '0;
      write_address <= '0;
      full          <= 1'b0;
    end else if (write) begin
      choice <= last_choice ? '0 : choice + 1'b1;
      if (last_choice) begin
        write_address <= last_address ? '0 : write_address + 1'b1;
        full          <= last_address;
      end
    end
  end

  for (genvar m = 0; m < MEMORIES; m++) begin : gen_memories
    memory #(
      .WIDTH  (WIDTH),
      .DEPTH  (DEPTH),
      .IN_LUTS(IN_LUTS)
    ) u_memory (
      .clk          (clk),
      .write        (write && (choice == ChoiceBits'(m))),
      .write_address(write_address),
      .write_data   (w_data),
      .read         (read),
      .read_address (address),
      .read_data    (words[m*WIDTH+:WIDTH])
    );
  end

endmodule
