"""The pages that show campaigns live: HTML and SVG from the server, and a script for what changed."""

from tutelage.service.dashboard.login import login_routes as login_routes
from tutelage.service.dashboard.login import refusal_page as refusal_page
from tutelage.service.dashboard.routes import dashboard_routes as dashboard_routes
from tutelage.service.dashboard.routes import states_router as states_router
from tutelage.service.monitoring.monitor import Monitor as Monitor
