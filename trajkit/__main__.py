"""``python -m trajkit``."""

from trajkit.cli import main

if __name__ == "__main__":
    main()
