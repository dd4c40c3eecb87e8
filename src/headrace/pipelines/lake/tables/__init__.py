"""Tables as targets: rows and the offset behind them are one commit of the table."""
