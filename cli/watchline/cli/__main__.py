"""`python -m watchline.cli` is `watchline`: what `dev` and `demo` start their parts with."""

from watchline.cli.main import main

if __name__ == "__main__":
    main()
