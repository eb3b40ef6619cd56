"""The live server: reward teaching in front of real clients.

``campaigns`` holds what a pull does and the one thread that changes campaigns; ``api`` the HTTP; ``watching``
what people and alarms see of campaigns; ``dashboard`` the pages.  ``app`` puts them together, and
``serving`` runs them in a process.
"""
