# Never built here: no Vivado was at hand.
#
# The block design: processor, AXI DMA with 64-bit streams, the accelerator, LEDs and buttons, all at
# 100 MHz and at the addresses of labkit/fpga/board/hardware/addresses.py. build.tcl sources it, and sets:
#   folding   CONFIG entries of the accelerator, such as {CONFIG.CONV1_LANES 1}

create_bd_design accelerator

# ---- The processor. Its clocks and memory are set up when the board boots, by the SD image; what is
# said of them here has to agree: a 50 MHz crystal, and 512 MiB of DDR3 on 16 wires.
create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7:5.5 processing_system7_0
set_property -dict [list \
  CONFIG.PCW_CRYSTAL_PERIPHERAL_FREQMHZ {50} \
  CONFIG.PCW_APU_PERIPHERAL_FREQMHZ {650} \
  CONFIG.PCW_UIPARAM_DDR_PARTNO {MT41J256M16 RE-125} \
  CONFIG.PCW_UIPARAM_DDR_BUS_WIDTH {16 Bit} \
  CONFIG.PCW_EN_CLK0_PORT {1} \
  CONFIG.PCW_FCLK0_PERIPHERAL_CLKSRC {IO PLL} \
  CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ {100} \
  CONFIG.PCW_USE_M_AXI_GP0 {1} \
  CONFIG.PCW_USE_S_AXI_HP0 {1} \
  CONFIG.PCW_S_AXI_HP0_DATA_WIDTH {64} \
] [get_bd_cells processing_system7_0]
apply_bd_automation -rule xilinx.com:bd_rule:processing_system7 \
  -config {make_external "FIXED_IO, DDR" apply_board_preset "0"} [get_bd_cells processing_system7_0]

# ---- The accelerator and its DMA: direct register mode, lengths of 26 bits, no realignment.
create_bd_cell -type ip -vlnv labkit:rtl:accelerator:1.0 accelerator_0
set_property -dict $folding [get_bd_cells accelerator_0]
create_bd_cell -type ip -vlnv xilinx.com:ip:axi_dma:7.1 axi_dma_0
set_property -dict [list \
  CONFIG.c_include_sg {0} \
  CONFIG.c_micro_dma {0} \
  CONFIG.c_sg_length_width {26} \
  CONFIG.c_include_mm2s {1} \
  CONFIG.c_include_mm2s_dre {0} \
  CONFIG.c_m_axi_mm2s_data_width {64} \
  CONFIG.c_m_axis_mm2s_tdata_width {64} \
  CONFIG.c_mm2s_burst_size {16} \
  CONFIG.c_include_s2mm {1} \
  CONFIG.c_include_s2mm_dre {0} \
  CONFIG.c_m_axi_s2mm_data_width {64} \
  CONFIG.c_s_axis_s2mm_tdata_width {64} \
  CONFIG.c_s2mm_burst_size {16} \
] [get_bd_cells axi_dma_0]

# ---- The pins.
create_bd_cell -type ip -vlnv xilinx.com:ip:axi_gpio:2.0 leds_gpio
set_property -dict [list CONFIG.C_GPIO_WIDTH {4} CONFIG.C_ALL_OUTPUTS {1}] [get_bd_cells leds_gpio]
create_bd_cell -type ip -vlnv xilinx.com:ip:axi_gpio:2.0 btns_gpio
set_property -dict [list CONFIG.C_GPIO_WIDTH {4} CONFIG.C_ALL_INPUTS {1}] [get_bd_cells btns_gpio]
create_bd_port -dir O -from 3 -to 0 leds
create_bd_port -dir I -from 3 -to 0 btns
connect_bd_net [get_bd_pins leds_gpio/gpio_io_o] [get_bd_ports leds]
connect_bd_net [get_bd_ports btns] [get_bd_pins btns_gpio/gpio_io_i]

# ---- The buses: the processor to four ports of registers, the DMA to memory.
create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect:1.0 registers_bus
set_property -dict [list CONFIG.NUM_SI {1} CONFIG.NUM_MI {4}] [get_bd_cells registers_bus]
create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect:1.0 memory_bus
set_property -dict [list CONFIG.NUM_SI {2} CONFIG.NUM_MI {1}] [get_bd_cells memory_bus]
create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset:5.0 reset_0
foreach {from to} [list \
  processing_system7_0/M_AXI_GP0 registers_bus/S00_AXI \
  registers_bus/M00_AXI accelerator_0/s_axi \
  registers_bus/M01_AXI axi_dma_0/S_AXI_LITE \
  registers_bus/M02_AXI leds_gpio/S_AXI \
  registers_bus/M03_AXI btns_gpio/S_AXI \
  axi_dma_0/M_AXI_MM2S memory_bus/S00_AXI \
  axi_dma_0/M_AXI_S2MM memory_bus/S01_AXI \
  memory_bus/M00_AXI processing_system7_0/S_AXI_HP0 \
  axi_dma_0/M_AXIS_MM2S accelerator_0/s_axis \
  accelerator_0/m_axis axi_dma_0/S_AXIS_S2MM \
] {
  connect_bd_intf_net [get_bd_intf_pins $from] [get_bd_intf_pins $to]
}

# ---- One clock, one reset.
foreach pin [list \
  processing_system7_0/M_AXI_GP0_ACLK processing_system7_0/S_AXI_HP0_ACLK reset_0/slowest_sync_clk \
  registers_bus/aclk memory_bus/aclk accelerator_0/aclk leds_gpio/s_axi_aclk btns_gpio/s_axi_aclk \
  axi_dma_0/s_axi_lite_aclk axi_dma_0/m_axi_mm2s_aclk axi_dma_0/m_axi_s2mm_aclk \
] {
  connect_bd_net [get_bd_pins processing_system7_0/FCLK_CLK0] [get_bd_pins $pin]
}
connect_bd_net [get_bd_pins processing_system7_0/FCLK_RESET0_N] [get_bd_pins reset_0/ext_reset_in]
foreach pin [list \
  registers_bus/aresetn memory_bus/aresetn accelerator_0/aresetn axi_dma_0/axi_resetn \
  leds_gpio/s_axi_aresetn btns_gpio/s_axi_aresetn \
] {
  connect_bd_net [get_bd_pins reset_0/peripheral_aresetn] [get_bd_pins $pin]
}

# ---- The addresses: those that the virtual board's .hwh has.
foreach {port base} [list \
  axi_dma_0/S_AXI_LITE 0x40400000 \
  leds_gpio/S_AXI 0x41200000 \
  btns_gpio/S_AXI 0x41210000 \
  accelerator_0/s_axi 0x43C00000 \
] {
  assign_bd_address -offset $base -range 0x10000 \
    -target_address_space [get_bd_addr_spaces processing_system7_0/Data] \
    [get_bd_addr_segs -of_objects [get_bd_intf_pins $port]] -force
}
foreach space [list axi_dma_0/Data_MM2S axi_dma_0/Data_S2MM] {
  assign_bd_address -offset 0x00000000 -range 512M \
    -target_address_space [get_bd_addr_spaces $space] \
    [get_bd_addr_segs processing_system7_0/S_AXI_HP0/HP0_DDR_LOWOCM] -force
}

validate_bd_design
save_bd_design
