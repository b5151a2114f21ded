"""What each group went through in each hour: the rows of gold.group_hours."""
