"""Observation of running campaigns for people and alarms: views, status items and Prometheus metrics."""
