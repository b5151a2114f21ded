"""What the brokers themselves logged (`server.log`), as optional evidence in addition to the records."""
