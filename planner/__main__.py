"""`python -m planner` and the script `planner`: Ctrl-C while the program is still loading ends it like any other."""

import os

try:
    from planner.cli.main import main
except KeyboardInterrupt:
    os._exit(130)

if __name__ == "__main__":
    main()
