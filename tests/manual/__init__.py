"""The commands of the manual and of the README, run exactly as they are printed."""
