"""The paper's printed tables as data, and one declaration a table or figure that is made again."""
