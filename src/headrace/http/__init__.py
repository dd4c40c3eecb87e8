"""What the HTTP services share: listeners, servers with limits, the way in. It knows no route."""
