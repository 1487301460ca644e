"""Runs examples/multi_worker.py and kills its own process with SIGKILL before step KILL_AT_STEP, counted from 1.

TF_CONFIG=... KILL_AT_STEP=7 python workers_killed.py --directory ... (the example's arguments)
"""

import importlib.util
import itertools
import os
import pathlib
import signal
import sys

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "multi_worker.py"


def load():
    sys.path.insert(0, str(EXAMPLE.parent))  # as `python examples/multi_worker.py` does
    spec = importlib.util.spec_from_file_location("multi_worker", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    example, count, last = load(), itertools.count(1), int(os.environ["KILL_AT_STEP"])
    make_step = example.make_step

    def make_mortal_step(*arguments):
        step = make_step(*arguments)

        def mortal_step(iterator):
            if next(count) == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(iterator)

        return mortal_step

    example.make_step = make_mortal_step
    example.main(example.parse_arguments())


if __name__ == "__main__":
    main()
