"""What the brokers themselves logged (`server.log`), as optional evidence beside the records."""
