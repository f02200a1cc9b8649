"""What engines share that run jobs where the rows are: nested SELECTs in a dialect, public rows beside them."""
