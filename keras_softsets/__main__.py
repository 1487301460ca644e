"""`python -m keras_softsets`: see `python -m keras_softsets --help`."""

import sys

from keras_softsets.cli.arguments import parser


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; mistakes in data are answered in one sentence."""
    given = parser().parse_args(arguments)
    from keras_softsets.cli import commands

    try:
        (commands.compare_table if given.command == "compare" else commands.tune_predictions)(given)
    except (ValueError, OSError, ImportError) as error:
        print(f"python -m keras_softsets {given.command}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
