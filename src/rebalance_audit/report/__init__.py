"""What people read: words, tables and texts made from the audit's rows."""
