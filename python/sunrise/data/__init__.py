"""The one door for input: any table as columns, labels as codes, level names, blocks for the engines, error texts."""
