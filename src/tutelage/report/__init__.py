"""A played experiment as files for people: pictures of every panel and one page that stands alone."""

from tutelage.report.making import Made, make
from tutelage.report.summary import summary
from tutelage.report.writing import Report, write_report

__all__ = ["Made", "Report", "make", "summary", "write_report"]
