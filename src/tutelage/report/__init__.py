"""Reports of experiments: pictures of every panel, and one page that needs no other file."""

from tutelage.report.build import ReportBuild, build_report
from tutelage.report.report_files import ReportFiles, write_report
from tutelage.report.summary import PanelSummary, ReportDocument, summarize_panels

__all__ = [
    "PanelSummary",
    "ReportBuild",
    "ReportDocument",
    "ReportFiles",
    "build_report",
    "summarize_panels",
    "write_report",
]
