"""Many clusters that scale at once, by Senlin with the plugin and by Senlin alone."""
