"""The dashboard: pages rendered from views of campaigns, with a script that fetches what changed."""
