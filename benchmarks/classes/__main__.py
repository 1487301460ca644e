"""Command line of the study; see the package's docstring for the protocol."""

import argparse
from pathlib import Path

import benchmarks.classes
from benchmarks.classes import data, plan, records, report, trial

RESULTS = Path(__file__).parents[1] / "results" / "classes"


def run(args: argparse.Namespace) -> None:
    for name in args.data:
        study, file = plan.STUDIES[name], args.output / f"{name}.csv"
        for seed in range(args.seeds):
            todo = [m for m in study.methods if (seed, m) not in records.finished(records.read(file), study.scores)]
            splits = (data.made_up(seed) if args.smoke else data.load(study.data, seed)) if todo else None
            for method in todo:
                found = trial.run(study, splits, method, seed, 2 if args.smoke else None)
                found = records.new(found, records.read(file))
                records.append(file, found)
                values = ", ".join(f"{r.score} {r.decision} {r.value:.3f}" for r in found)
                print(f"{name}, seed {seed}, {method}: {values}, {found[0].seconds:.0f} s", flush=True)


def show(args: argparse.Namespace) -> None:
    print("# Several classes\n\nMade by `python -m benchmarks.classes report`.", end="\n\n")
    print("Test data: mean ± standard deviation over splits. Difference: paired, from cross-entropy with offsets, ±")
    print("standard error.")
    for name in args.data:
        found = records.read(args.output / f"{name}.csv")
        print(f"\n## {name}, {len({r.seed for r in found})} splits\n\n{report.table(plan.STUDIES[name], found)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=benchmarks.classes.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--data", nargs="+", choices=tuple(plan.STUDIES), default=tuple(plan.STUDIES))
    parser.add_argument("--seeds", type=int, default=plan.SEEDS, help="splits (default: 10)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the CSV files")
    parser.add_argument("--smoke", action="store_true", help="generated data and two epochs, to check that it runs")
    args = parser.parse_args()
    {"run": run, "report": show}[args.command](args)


if __name__ == "__main__":
    main()
