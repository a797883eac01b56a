"""Pictures of one scenario, from the folder that it has left: a page, a terminal's, a trace.

What is drawn is computed first, as frozen values (``folder``, ``timeline``, ``ring``, ``shares``,
``loads``, ``scenario``); ``drawing`` and ``pages``, ``terminal`` and ``trace`` only put it down.
"""
