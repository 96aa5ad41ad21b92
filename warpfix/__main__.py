"""``python -m warpfix``: the same as the console script."""

from warpfix.cli import main

if __name__ == "__main__":
    main()
