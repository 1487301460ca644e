"""The plan: what the tables need, each once, and a row for every row of the paper."""

from benchmarks.paper.methods import objectives
from benchmarks.paper.plan import tables
from benchmarks.paper.plan.configuration import Configuration, only
from benchmarks.paper.plan.tables import TABLES
from benchmarks.paper.report import numbers


def test_configurations_have_distinct_files():
    everything = tables.configurations(list(tables.NAMES))
    assert len({c.path for c in everything}) == len(everything)
    assert Configuration("adult", "bce") in everything


def test_every_row_is_trained_by_a_table():
    everything = set(tables.configurations(list(tables.NAMES)))
    shown = {table.configuration(dataset, row) for table in TABLES for dataset in table.datasets for row in table.rows}
    assert shown == everything


def test_what_takes_hours_is_trained_on_request_only():
    hours = tables.configurations(["adversarial"])
    assert {c.loss for c in hours} == {"adversarial_f1"}
    assert not {c.loss for c in tables.configurations(["1", "sigmoid", "more"])} & {"adversarial_f1"}


def test_a_part_of_a_table_can_be_asked_for():
    wanted = only(tables.configurations(["batch", "1"]), ["synthetic_05"], ["bce"])
    assert [c.batch_size for c in wanted] == [128, 1024, 2048, 4096]


def test_every_row_of_the_paper_has_its_row():
    ours = {
        (table.paper_key(row), dataset, row.paper, column)
        for table in TABLES
        for dataset in table.datasets
        for row in table.rows
        for column in table.columns
    }
    assert not set(numbers.paper_numbers()) - ours


def test_every_row_is_a_reading_that_its_method_writes():
    rows = [row for table in TABLES for row in table.rows if row.loss in objectives.OBJECTIVES]
    assert len(rows) > 50
    assert not [row for row in rows if row.reading not in objectives.readings(row.loss)]
