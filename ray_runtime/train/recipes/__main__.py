"""What each rank of a recipe's job runs: `python -m ray_runtime.train.recipes`."""

import gc
import json
import os
import sys

from ray_runtime.train.recipes import BadParamsError, Recipe, build


def main() -> None:
    """Build the recipe that the environment names and run it; never returns normally."""
    try:
        recipe = _build()
    except (BadParamsError, json.JSONDecodeError) as error:
        sys.exit(f"gangline: the recipe cannot be run\n{error}")
    from ray_runtime.train.collectives import leave, leave_at_once_on_errors

    leave_at_once_on_errors()
    try:
        recipe.run()
    except SystemExit as stop:  # after a SIGTERM and a save
        leave(int(stop.code or 0))
    leave(0)  # finalisers of a process group may wait for peers that are gone already


def _build() -> Recipe:
    """Collecting garbage while a thousand modules load finds none and costs a tenth of the start."""
    gc.disable()
    try:
        recipe = build(
            os.environ.get("GANGLINE_RECIPE", ""), json.loads(os.environ.get("GANGLINE_PARAMS") or "{}")
        )
        from ray_runtime.train.startup import spare_compiler

        spare_compiler()
        gc.freeze()
        return recipe
    finally:
        gc.enable()


if __name__ == "__main__":
    main()
