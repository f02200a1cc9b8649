// A page that is not there: the bar is empty, for nobody need be in.
