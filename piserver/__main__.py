"""`python -m piserver`."""

from piserver.cli import main

if __name__ == "__main__":
    main()
