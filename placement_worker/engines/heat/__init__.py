"""The plugin of Heat's engine: an autoscaling group whose members the workers place.

No other package imports Heat. The modules without Heat hold the decisions; `group` and
`placement_property` connect them to it.
"""
