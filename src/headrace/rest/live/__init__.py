"""Reading over HTTP without a consumer instance: by offset, as events, or through a WebSocket."""
