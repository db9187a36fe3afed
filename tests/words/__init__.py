"""The words of the project: which terms a public text must not have, and which it has instead.

`python -m tests.words` lists what it finds as file:line and ends with 1 where there is something;
`--by-directory` counts; paths limit it to files and directories.
"""
