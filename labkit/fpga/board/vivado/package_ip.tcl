# Never built here: no Vivado was at hand.
#
# Packages the accelerator as the IP labkit:rtl:accelerator:1.0, in the folder $work/ip, with the
# registers that pynq's register_map shows. build.tcl sources it, and sets:
#   here   this folder          rtl   the folder of the .sv files          work   what may be written

set sources [list \
  accelerator.sv \
  add_bias.sv \
  adder_tree.sv \
  axi_lite_slave.sv \
  block_fifo.sv \
  control_registers.sv \
  conv3x3.sv \
  conv_layer.sv \
  convnet.sv \
  delay_line.sv \
  dot_products.sv \
  fully_connected.sv \
  gather.sv \
  job_control.sv \
  line_buffer.sv \
  mac_array.sv \
  maxpool2x2.sv \
  memory.sv \
  memory_bank.sv \
  narrow.sv \
  raster.sv \
  requantize.sv \
  section_router.sv \
  skid_buffer.sv \
  stream_fifo.sv \
  stream_header.sv \
  weight_store.sv \
  window_3x3.sv \
  window_control.sv \
  window_rows.sv \
]

create_project -force package $work/package -part xc7z020clg400-1
foreach source $sources {
  add_files -norecurse $rtl/$source
}
add_files -norecurse $here/accelerator_ip.v
set_property top accelerator_ip [current_fileset]
update_compile_order -fileset sources_1

ipx::package_project -root_dir $work/ip -vendor labkit -library rtl -taxonomy /UserIP \
  -import_files -force
set core [ipx::current_core]
set_property name accelerator $core
set_property version 1.0 $core
set_property display_name "The course's accelerator" $core

# ---- The registers, as labkit/fpga/convnet/accelerator.py lists them: name, offset, access.
set registers [list \
  CONTROL 0x00 read-write \
  STATUS 0x04 read-only \
  IMAGES 0x08 read-write \
  CYCLES 0x0C read-only \
  BEATS_IN 0x10 read-only \
  BEATS_OUT 0x14 read-only \
  FOLDING 0x18 read-only \
  SHAPES 0x1C read-only \
]
set control_bits [list START 0 RESET 1]
set status_bits [list \
  BUSY 0 \
  DONE 1 \
  START_WHILE_BUSY 2 \
  NO_IMAGES 3 \
  OTHER_NETWORK 4 \
  TOO_SHORT 5 \
  TOO_LONG 6 \
]

set map [lindex [ipx::get_memory_maps -of_objects $core] 0]
set block [lindex [ipx::get_address_blocks -of_objects $map] 0]
foreach {name offset access} $registers {
  set register [ipx::add_register $name $block]
  set_property address_offset $offset $register
  set_property size 32 $register
  set_property access $access $register
  set_property description $name $register
  set bits [list]
  if {$name eq "CONTROL"} { set bits $control_bits }
  if {$name eq "STATUS"} { set bits $status_bits }
  foreach {field place} $bits {
    set entry [ipx::add_field $field $register]
    set_property bit_offset $place $entry
    set_property bit_width 1 $entry
    set_property access $access $entry
    set_property description $field $entry
  }
}

ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::save_core $core
close_project
