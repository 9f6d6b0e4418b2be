// The registers that a processor sees, behind an AXI4-Lite port.
//
//   0x00  CONTROL    write 1 to bit 0: START a job; to bit 1: RESET, which ends any job at once
//   0x04  STATUS     bit 0 BUSY, 1 DONE, 2 START_WHILE_BUSY, 3 NO_IMAGES, 4 OTHER_NETWORK,
//                    5 TOO_SHORT, 6 TOO_LONG; a START that is accepted clears all but BUSY
//   0x08  IMAGES     how many images the next job has: 1 to 65535; read and write
//   0x0C  CYCLES     clock cycles from the START to the end of the job; stops at 2^32 - 1
//   0x10  BEATS_IN   beats of the job that came in, discarded ones included; stops at 2^32 - 1
//   0x14  BEATS_OUT  words that were handed out
//   0x18  FOLDING    the lanes of conv1, conv2 and fc1 in a byte each, bit 24: RESIDENT
//   0x1C  SHAPES     HEIGHT and the channels of conv1, conv2, fc1 in a byte each
//
// Another address, a part of a word, a value above 65535, and writing what can only be read are
// answered with SLVERR, and change nothing. Both bits of CONTROL at once: RESET.
//
// Ports   s_axi: AXI4-Lite, 32 bits of data, 6 of address. The others: to and from job_control.
// Timing  A write and a read take 2 cycles each when nobody waits.
// Lesson  the_network_as_a_pipeline.

module control_registers #(
  parameter bit [31:0] FOLDING = 32'd0,
  parameter bit [31:0] SHAPES  = 32'd0
) (
  input  logic        clk,
  input  logic        rst,
  input  logic        s_axi_awvalid,
  output logic        s_axi_awready,
  input  logic [5:0]  s_axi_awaddr,
  input  logic        s_axi_wvalid,
  output logic        s_axi_wready,
  input  logic [31:0] s_axi_wdata,
  input  logic [3:0]  s_axi_wstrb,
  output logic        s_axi_bvalid,
  input  logic        s_axi_bready,
  output logic [1:0]  s_axi_bresp,
  input  logic        s_axi_arvalid,
  output logic        s_axi_arready,
  input  logic [5:0]  s_axi_araddr,
  output logic        s_axi_rvalid,
  input  logic        s_axi_rready,
  output logic [31:0] s_axi_rdata,
  output logic [1:0]  s_axi_rresp,
  output logic        start,
  output logic        stop,
  output logic [15:0] images,
  input  logic [6:0]  status,
  input  logic [31:0] cycles,
  input  logic [31:0] beats_in,
  input  logic [31:0] beats_out
);

  localparam bit [5:0] Control = 6'h00;
  localparam bit [5:0] Images  = 6'h08;

  logic        write;
  logic [5:0]  write_address;
  logic [31:0] write_data;
  logic        write_okay;
  logic [5:0]  read_address;
  logic [31:0] read_data;
  logic        read_okay;

  axi_lite_slave #(
    .ADDRESS_BITS(6)
  ) u_slave (
    .clk          (clk),
    .rst          (rst),
    .s_axi_awvalid(s_axi_awvalid),
    .s_axi_awready(s_axi_awready),
    .s_axi_awaddr (s_axi_awaddr),
    .s_axi_wvalid (s_axi_wvalid),
    .s_axi_wready (s_axi_wready),
    .s_axi_wdata  (s_axi_wdata),
    .s_axi_wstrb  (s_axi_wstrb),
    .s_axi_bvalid (s_axi_bvalid),
    .s_axi_bready (s_axi_bready),
    .s_axi_bresp  (s_axi_bresp),
    .s_axi_arvalid(s_axi_arvalid),
    .s_axi_arready(s_axi_arready),
    .s_axi_araddr (s_axi_araddr),
    .s_axi_rvalid (s_axi_rvalid),
    .s_axi_rready (s_axi_rready),
    .s_axi_rdata  (s_axi_rdata),
    .s_axi_rresp  (s_axi_rresp),
    .write        (write),
    .write_address(write_address),
    .write_data   (write_data),
    .write_okay   (write_okay),
    .read_address (read_address),
    .read_data    (read_data),
    .read_okay    (read_okay)
  );

  // ---- Writes.
  logic known;
  logic in_range;
  assign known      = (write_address == Control) || (write_address == Images);
  assign in_range   = write_data[31:16] == '0;
  assign write_okay = known && in_range;

  assign start = write && (write_address == Control) && write_data[0];
  assign stop  = write && (write_address == Control) && write_data[1];

  always_ff @(posedge clk) begin
    if (rst) begin
      images <= 16'd1;
    end else if (write && (write_address == Images)) begin
      images <= write_data[15:0];
    end
  end

  // ---- Reads.
  always_comb begin
    read_okay = 1'b1;
    case (read_address)
      6'h00:   read_data = 32'd0;
      6'h04:   read_data = 32'(status);
      6'h08:   read_data = 32'(images);
      6'h0C:   read_data = cycles;
      6'h10:   read_data = beats_in;
      6'h14:   read_data = beats_out;
      6'h18:   read_data = FOLDING;
      6'h1C:   read_data = SHAPES;
      default: begin
        read_data = 32'd0;
        read_okay = 1'b0;
      end
    endcase
  end

endmodule
