"""`python -m sunrise.cli` is the command `sunrise`, also where scripts are not on the path."""

from sunrise.cli import main

if __name__ == "__main__":
    main()
