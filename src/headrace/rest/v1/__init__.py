"""Version 1 of the API, as the first courses taught it.

It shares the paths and most bodies of version 2 and is told from it by its media types; only what
version 2 no longer has is here.
"""
