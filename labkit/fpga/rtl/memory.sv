// A memory with a port to write and a port to read: what a block RAM is.
//
// Ports   write: store write_data at write_address. read: fetch read_data from read_address.
// Timing  read_data comes one cycle after read, and stays until the next read. What is read in the
//         cycle in which it is written is undefined, as in a block RAM.
//         IN_LUTS asks synthesis to make it of LUTs, which a small memory takes few of.
// Lesson  a_convolution_as_a_stream.

module memory #(
  parameter  int WIDTH        = 64,
  parameter  int DEPTH        = 128,
  parameter  bit IN_LUTS      = 1'b0,
  localparam int ADDRESS_BITS = (DEPTH > 1) ? $clog2(DEPTH) : 1
) (
  input  logic                    clk,
  input  logic                    write,
  input  logic [ADDRESS_BITS-1:0] write_address,
  input  logic [WIDTH-1:0]        write_data,
  input  logic                    read,
  input  logic [ADDRESS_BITS-1:0] read_address,
  output logic [WIDTH-1:0]        read_data
);

  if (IN_LUTS) begin : gen_luts
    (* ram_style = "distributed", no_rw_check *) logic [WIDTH-1:0] words [DEPTH];
    always_ff @(posedge clk) begin
      if (write) begin
        words[write_address] <= write_data;
      end
      if (read) begin
        read_data <= words[read_address];
      end
    end
  end else begin : gen_free
    (* no_rw_check *) logic [WIDTH-1:0] words [DEPTH];
    always_ff @(posedge clk) begin
      if (write) begin
        words[write_address] <= write_data;
      end
      if (read) begin
        read_data <= words[read_address];
      end
    end
  end

endmodule
