"""The live server: reward teaching in front of real clients.

``campaigns`` holds what a pull does and the one thread that changes campaigns; ``api`` the HTTP; ``monitoring``
what people and alarms see of campaigns; ``dashboard`` the pages.  ``app`` puts them together, and
``server_process`` runs them in a process.
"""
