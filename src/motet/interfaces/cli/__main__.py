"""`python -m motet.interfaces.cli`, the same as `motet`."""

from motet.interfaces.cli.main import main

if __name__ == "__main__":
    main()
