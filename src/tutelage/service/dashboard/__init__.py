"""The dashboard: pages rendered from views of campaigns, with a script that fetches what changed."""

from tutelage.service.dashboard.login import login_routes as login_routes
from tutelage.service.dashboard.login import refusal_page as refusal_page
from tutelage.service.dashboard.routes import dashboard_routes as dashboard_routes
