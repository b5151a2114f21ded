"""What carries the text that is read: archives, encodings, container runtimes, JSON at any depth."""
