"""The cluster's room: processes, collectives, data parallel training, parameter servers."""
