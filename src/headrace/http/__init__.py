"""What the HTTP services share: where they listen, and servers with limits. It knows no route."""
