"""The folder that `plugin_dirs` of heat.conf names; Heat imports each module in it."""
