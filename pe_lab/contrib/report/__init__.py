"""One interactive page of a study: report.html."""
