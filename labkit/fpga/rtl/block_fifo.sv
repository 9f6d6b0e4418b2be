// A large queue in a stream, whose memory can be block RAM: the first word in is the first out.
//
// A block RAM answers one cycle after it is asked. So the queue asks for a word as soon as the
// register behind the memory is free, and the word stands there until it is taken.
//
// Ports   in, out: streams of WIDTH bits. The memory holds DEPTH words; DEPTH is a power of two.
// Timing  Latency 2 cycles, one word per cycle. No path from `out_ready` to `in_ready`.
// Lesson  the_network_as_a_pipeline.

module block_fifo #(
  parameter int WIDTH   = 64,
  parameter int DEPTH   = 1024,
  parameter bit IN_LUTS = 1'b0
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             in_valid,
  output logic             in_ready,
  input  logic [WIDTH-1:0] in_data,
  output logic             out_valid,
  input  logic             out_ready,
  output logic [WIDTH-1:0] out_data
);

  localparam int AddressBits = $clog2(DEPTH);

  if ((DEPTH < 2) || (DEPTH != 1 << AddressBits)) begin : gen_depth_refused
    $error("DEPTH must be a power of two");
  end

  // One bit more than an address: the pointers differ by DEPTH when the memory is full.
  logic [AddressBits:0] written;
  logic [AddressBits:0] asked;
  logic                 write;
  logic                 ask;

  assign in_ready = (written - asked) != (AddressBits + 1)'(DEPTH);
  assign write    = in_valid && in_ready;
  assign ask      = (written != asked) && (!out_valid || out_ready);

  always_ff @(posedge clk) begin
    if (rst) begin
      written   <= '0;
      asked     <= '0;
      out_valid <= 1'b0;
    end else begin
      if (write) begin
        written <= written + 1'b1;
      end
      if (ask) begin
        asked <= asked + 1'b1;
      end
      if (!out_valid || out_ready) begin
        out_valid <= ask;
      end
    end
  end

  memory #(
    .WIDTH  (WIDTH),
    .DEPTH  (DEPTH),
    .IN_LUTS(IN_LUTS)
  ) u_memory (
    .clk          (clk),
    .write        (write),
    .write_address(written[AddressBits-1:0]),
    .write_data   (in_data),
    .read         (ask),
    .read_address (asked[AddressBits-1:0]),
    .read_data    (out_data)
  );

endmodule
