"""The benchmark: piserver beside the real implementations and bare building blocks, in one run on one machine.

    make bench                               set up, measure everything, print the table
    python -m tests.bench --quick            the same on small sessions, in seconds
    python -m tests.bench --update README.md put the table between the file's marks

Every measurement of a session runs in a process of its own, ours and the peers' by turns, and the median counts. So a
ratio compares what happened under the same conditions; absolute times are those of the machine.
"""
