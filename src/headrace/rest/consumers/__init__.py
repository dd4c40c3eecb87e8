"""Consumer instances: members of groups that live between requests, on behalf of HTTP clients.

`instance` is one consumer and blocks; `manager` has all of this proxy, gives each one thread at a
time and closes those that nobody uses any more. Requests and answers belong to the routes.
"""
