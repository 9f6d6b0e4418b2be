"""The exercises of chapter 04_distributed: functions (.py) and texts (.toml) of each lesson."""

# In the order of the chapter; a lesson's name is that of its source, without the number.
LESSONS = (
    "processes_and_collectives",
    "the_ring",
    "data_parallel_by_hand",
    "overlap_and_buckets",
    "fewer_bytes",
    "parameter_servers",
    "faults",
    "unlike_machines",
    "tensor_parallel",
    "pipeline",
    "hybrid_and_sharded",
    "restarts_and_monitoring",
    "a_tokens_cost",
    "fine_tuning_and_compilers",
    "serving",
    "a_cost_model",
    "choosing_hardware",
)
