# Never built here: no Vivado was at hand.
#
#   vivado -mode batch -source build.tcl -tclargs BOARD WORK [NAME=VALUE ...]
#
# BOARD is pynq_z1 or pynq_z2, WORK a folder for the results, and NAME=VALUE a parameter of the
# accelerator, such as CONV1_LANES=2. It leaves WORK/accelerator.bit and WORK/accelerator.hwh.

set here [file dirname [file normalize [info script]]]
set rtl [file normalize $here/../../rtl]
if {[llength $argv] < 2 || [lindex $argv 0] ni {pynq_z1 pynq_z2}} {
  puts "Call: vivado -mode batch -source build.tcl -tclargs pynq_z1|pynq_z2 WORK \[NAME=VALUE ...\]"
  exit 2
}
set board [lindex $argv 0]
set work [file normalize [lindex $argv 1]]
file mkdir $work

# ---- The folding; without an argument, that of labkit's Folding().
set knobs [dict create CONV1_LANES 1 CONV2_LANES 1 FC1_LANES 8 RESIDENT 0]
foreach argument [lrange $argv 2 end] {
  lassign [split $argument =] name value
  if {![dict exists $knobs $name]} {
    puts "There is no parameter $name; there are [dict keys $knobs]."
    exit 2
  }
  dict set knobs $name $value
}
set folding [list]
dict for {name value} $knobs {
  lappend folding CONFIG.$name $value
}

source $here/package_ip.tcl

create_project -force accelerator $work/project -part xc7z020clg400-1
set_property ip_repo_paths $work/ip [current_project]
update_ip_catalog
source $here/block_design.tcl
add_files -fileset constrs_1 -norecurse $here/$board.xdc
set design [get_files accelerator.bd]
make_wrapper -files $design -top -import
set_property top accelerator_wrapper [current_fileset]
update_compile_order -fileset sources_1

launch_runs impl_1 -to_step write_bitstream -jobs 4
wait_on_run impl_1
open_run impl_1
set slack [get_property SLACK [get_timing_paths -max_paths 1]]
puts "The worst slack at 100 MHz is $slack ns."
if {$slack < 0} {
  puts "Too slow for 100 MHz: the results would be wrong now and then. No bitstream is handed out."
  exit 1
}
file copy -force $work/project/accelerator.runs/impl_1/accelerator_wrapper.bit $work/accelerator.bit
set handoff [glob $work/project/accelerator.gen/sources_1/bd/accelerator/hw_handoff/accelerator.hwh]
file copy -force $handoff $work/accelerator.hwh
puts "Written: $work/accelerator.bit and $work/accelerator.hwh"
