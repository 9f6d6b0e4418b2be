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

  localparam bit [1:0] Okay        = 2'b00;
  localparam bit [1:0] SlaveError  = 2'b10;

  // ---- Writes: address and data are taken together, and answered in the next cycle.
  logic write;
  logic known;
  logic whole;
  logic in_range;
  logic write_fits;
  assign write         = s_axi_awvalid && s_axi_wvalid && !s_axi_bvalid;
  assign s_axi_awready = write;
  assign s_axi_wready  = write;
  assign whole         = s_axi_wstrb == 4'b1111;
  assign in_range      = s_axi_wdata[31:16] == '0;
  assign known         = (s_axi_awaddr == Control) || (s_axi_awaddr == Images);
  assign write_fits    = known && whole && in_range;

  assign start = write && write_fits && (s_axi_awaddr == Control) && s_axi_wdata[0];
  assign stop  = write && write_fits && (s_axi_awaddr == Control) && s_axi_wdata[1];

  always_ff @(posedge clk) begin
    if (rst) begin
      s_axi_bvalid <= 1'b0;
      images       <= 16'd1;
    end else begin
      if (write) begin
        s_axi_bvalid <= 1'b1;
        s_axi_bresp  <= write_fits ? Okay : SlaveError;
      end else if (s_axi_bready) begin
        s_axi_bvalid <= 1'b0;
      end
      if (write && write_fits && (s_axi_awaddr == Images)) begin
        images <= s_axi_wdata[15:0];
      end
    end
  end

  // ---- Reads.
  logic        read;
  logic        read_fits;
  logic [31:0] value;
  assign s_axi_arready = !s_axi_rvalid;
  assign read          = s_axi_arvalid && s_axi_arready;

  always_comb begin
    read_fits = 1'b1;
    case (s_axi_araddr)
      6'h00:   value = 32'd0;
      6'h04:   value = 32'(status);
      6'h08:   value = 32'(images);
      6'h0C:   value = cycles;
      6'h10:   value = beats_in;
      6'h14:   value = beats_out;
      6'h18:   value = FOLDING;
      6'h1C:   value = SHAPES;
      default: begin
        value     = 32'd0;
        read_fits = 1'b0;
      end
    endcase
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      s_axi_rvalid <= 1'b0;
    end else if (read) begin
      s_axi_rvalid <= 1'b1;
      s_axi_rdata  <= value;
      s_axi_rresp  <= read_fits ? Okay : SlaveError;
    end else if (s_axi_rready) begin
      s_axi_rvalid <= 1'b0;
    end
  end

endmodule
