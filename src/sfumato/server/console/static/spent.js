// Nothing to do: the page says it all.
