"""The results of simulations: collected from runs, described as JSON documents, saved as NetCDF files.

Shapes: N teachers, R runs, M clients, C checkpoints, K arms, E events.  Runs have different numbers of
events, so events are padded to the longest run: round 0, target -1, no arm active.
"""

from tutelage.results.collector import Collector, GroupCollector, result_size
from tutelage.results.documents import (
    FloorDocument,
    InstanceDocument,
    RequestDocument,
    SimulationDocument,
    TeacherDocument,
    describe_floors,
    describe_instance,
    describe_request,
    encode_json,
    summarize_noticing,
)
from tutelage.results.netcdf import check_result_path, check_writable, load, save
from tutelage.results.result import NONE, SimulationResult

__all__ = [
    "NONE",
    "Collector",
    "FloorDocument",
    "GroupCollector",
    "InstanceDocument",
    "RequestDocument",
    "SimulationDocument",
    "SimulationResult",
    "TeacherDocument",
    "check_result_path",
    "check_writable",
    "describe_floors",
    "describe_instance",
    "describe_request",
    "encode_json",
    "load",
    "result_size",
    "save",
    "summarize_noticing",
]
