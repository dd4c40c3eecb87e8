"""Who somebody is and what that allows: decisions only, without sockets, clocks or chance."""
