"""Input: reads any table into columns, labels into codes and columns into the blocks of the engines; error texts."""
