"""`python -m gangline.demo` is `gangline demo`, also where the command itself is not installed."""

import sys

from gangline.main import main

if __name__ == "__main__":
    sys.argv[1:] = ["demo"]
    main()
