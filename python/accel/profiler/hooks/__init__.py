"""What is put into torch, one module for each place. install(session) puts it there and gives the function that takes it
out again. A hook that fails is left out: training goes on, and the session's notes say what is missing."""

PLACES = ("steps", "loader", "modules", "backward", "checkpoints", "garbage", "stacks")
