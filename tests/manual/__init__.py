"""Every command of the manual and of the README, run as it stands there."""
