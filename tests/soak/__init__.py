"""Whether piserver holds out: many writers with sudden deaths, a stop at every step to the disk, senseless input.

    make soak                            everything, in some minutes, and the figures
    python -m tests.soak --only servers  one part
    python -m tests.soak --seed 7        the same choices again, as far as processes allow

The tests in this folder are short forms of the same.
"""
