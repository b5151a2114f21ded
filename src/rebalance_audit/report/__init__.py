"""What people read: words, tables and texts made of the audit's rows."""
