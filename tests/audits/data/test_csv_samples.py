"""Reading samples from CSV: what is read, and every refusal word for word."""

import csv
import gzip
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support.paths import DATA

from arena.errors import InvalidArgument
from arena.sample import Sample
from audits.data.csv_files import load_sample

ADULT = DATA / "adult.csv.gz"
MUSHROOM = ADULT.with_name("mushroom.csv.gz")


@pytest.fixture
def write_file(tmp_path, monkeypatch):
    """Write a file of that content to the current directory, return its name."""
    monkeypatch.chdir(tmp_path)

    def write(content, name="d.csv"):
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


def refusal(*args, **options):
    with pytest.raises(InvalidArgument) as caught:
        load_sample(*args, **options)
    return str(caught.value)


def as_counter(sample):
    points, labels = sample.points.tolist(), sample.labels.tolist()
    keys = [(tuple(p) if isinstance(p, list) else p, y) for p, y in zip(points, labels, strict=True)]
    assert len(set(keys)) == len(keys)
    assert keys == sorted(keys)
    return Counter(dict(zip(keys, sample.counts.tolist(), strict=True)))


class TestReading:
    @pytest.mark.thorough
    def test_adult_is_the_multiset_that_a_plain_count_finds(self):
        sample = load_sample(ADULT, x="age", y="income", positive=">50K")
        with gzip.open(ADULT, "rt", newline="") as file:
            plain = Counter((float(row["age"]), int(row["income"] == ">50K")) for row in csv.DictReader(file))
        assert as_counter(sample) == plain
        assert sample.size == 32_561

    def test_several_columns_make_points_of_several_coordinates(self):
        sample = load_sample(ADULT, x=["age", "hours-per-week"], y="sex", positive="Female")
        with gzip.open(ADULT, "rt", newline="") as file:
            plain = Counter(
                ((float(row["age"]), float(row["hours-per-week"])), int(row["sex"] == "Female"))
                for row in csv.DictReader(file)
            )
        assert as_counter(sample) == plain
        assert sample.points.shape[1:] == (2,)

    def test_one_name_in_a_list_makes_points_of_one_coordinate(self, write_file):
        assert load_sample(write_file("a,b\n3,0\n1,1\n"), x=["a"], y="b").points.tolist() == [[1], [3]]

    @pytest.mark.thorough
    def test_adult_loads_within_half_a_second(self):
        def seconds():
            start = time.process_time()
            load_sample(ADULT, x="age", y="income", positive=">50K")
            return time.process_time() - start

        assert min(seconds() for _ in range(3)) < 0.5

    def test_equal_examples_are_one_run(self, write_file):
        name = write_file("x,y\n2,1\n1,0\n2,1\n2,0\n")
        assert load_sample(name, x="x", y="y") == Sample([1, 2, 2], [0, 0, 1], [1, 1, 2])

    @pytest.mark.parametrize(
        "text",
        [
            "x,y\n1,0\n2.5,1\n",
            "x,y\r\n1,0\r\n2.5,1\r\n",
            "x,y\r1,0\r2.5,1",
            "\ufeffx,y\n1,0\n2.5,1",
            " x ,\ty\n 1, 0\n2.5 ,1 \n\n",
            '"x","y"\n\n"1", "0"\n"2.5","1"\n   \n',
            "y,x\n0,1\n1,25e-1\n",
            "n,x,y\n,1,0\nb,+2.50,1\n",
            "x,y\n1,0.0\n2.5,1.0\n",
        ],
    )
    def test_ways_to_write_the_same_sample(self, write_file, text):
        sample = load_sample(write_file(text), x="x", y="y")
        assert sample == Sample([1, 2.5], [0, 1])

    def test_gzip(self, write_file):
        name = write_file(gzip.compress(b"x,y\n1,0\n2.5,1\n"), "d.csv.gz")
        assert load_sample(name, x="x", y="y") == Sample([1, 2.5], [0, 1])

    def test_a_path_may_be_text_or_a_path(self, write_file):
        name = write_file("x,y\n1,0\n2,1\n")
        assert load_sample(name, x="x", y="y") == load_sample(Path(name), x="x", y="y")

    @pytest.mark.parametrize("positive", ["yes", " yes "])
    def test_positive_names_label_1(self, write_file, positive):
        name = write_file("x,y\n1,no\n2, yes\n")
        assert load_sample(name, x="x", y="y", positive=positive) == Sample([1, 2], [0, 1])

    def test_positive_may_turn_zero_and_one_round(self, write_file):
        name = write_file("x,y\n1,0\n2,1\n")
        assert load_sample(name, x="x", y="y", positive="0") == Sample([1, 2], [1, 0])

    def test_columns_not_asked_for_may_hold_anything(self, write_file):
        name = write_file('x,,y\n1,"a,\n""b""",0\n2,NaN,1\n')
        assert load_sample(name, x="x", y="y").size == 2

    def test_the_shipped_files_are_what_their_readme_says(self):
        rows = gzip.decompress(ADULT.read_bytes()).decode().splitlines()
        assert len(rows) == 1 + 32_561
        assert {len(row.split(",")) for row in rows} == {15}
        assert " " not in "".join(rows)
        rows = gzip.decompress(MUSHROOM.read_bytes()).decode().splitlines()
        assert len(rows) == 1 + 8_124
        assert all(path.read_bytes()[4:8] == bytes(4) for path in (ADULT, MUSHROOM))


class TestUsers:
    def test_users_are_numbered_in_alphabetical_order_in_the_last_coordinate(self, write_file):
        name = write_file("who,x,y\nbob,1,0\nAda,2,1\nbob,1,0\n10,3,1\n")
        sample = load_sample(name, x="x", y="y", user="who")
        assert as_counter(sample) == Counter({((1, 2), 0): 2, ((2, 1), 1): 1, ((3, 0), 1): 1})
        assert load_sample(name, x=["x"], y="y", user="who") == sample

    @pytest.mark.parametrize("value", ["", "NaN", "?", "null"])
    def test_a_missing_user_is_refused(self, write_file, value):
        name = write_file(f"who,x,y\nbob,1,0\n{value},2,1\n")
        assert refusal(name, x="x", y="y", user="who") == (
            f"d.csv, line 3, column 'who': every example must have a user, got {value!r}. "
            "Remove the line, or write whose it is."
        )

    @pytest.mark.parametrize("column", ["x", "y"])
    def test_the_column_is_another_one(self, write_file, column):
        assert refusal(write_file("x,y\n1,0\n2,1\n"), x="x", y="y", user=column) == (
            "the column of the users must be another than those of the points and the labels, got "
            f"{column!r}. Name another column."
        )


class TestFiles:
    def test_missing(self, write_file):
        write_file("")
        assert refusal("no.csv", x="x", y="y") == (
            "the data file no.csv cannot be read (No such file or directory). Check the path."
        )

    def test_directory(self, write_file, tmp_path):
        assert refusal(tmp_path, x="x", y="y") == (
            f"the data file {tmp_path} cannot be read (Is a directory). Name a file in it."
        )

    def test_unreadable(self, write_file):
        name = write_file("x,y\n1,0\n")
        assert refusal(f"{name}/more.csv", x="x", y="y") == (
            "the data file d.csv/more.csv cannot be read (Not a directory). Check the path."
        )

    @pytest.mark.parametrize(
        ("content", "what"),
        [
            (b"x,y\n1,0\n", "Not a gzipped file (b'x,')"),
            (
                gzip.compress(b"x,y\n1,0\n2,1\n")[:-9],
                "Compressed file ended before the end-of-stream marker was reached",
            ),
            (
                gzip.compress(b"x,y\n", mtime=0)[:10] + b"\xff" * 20,
                "Error -3 while decompressing data: invalid block type",
            ),
        ],
        ids=["plain", "cut", "broken"],
    )
    def test_not_gzip(self, write_file, content, what):
        assert refusal(write_file(content, "d.csv.gz"), x="x", y="y") == (
            f"d.csv.gz is not complete gzip data, though its name ends in .gz ({what}). "
            "Download it again, or remove .gz from the name of a plain file."
        )

    def test_gzip_under_a_plain_name(self, write_file):
        assert refusal(write_file(gzip.compress(b"x,y\n", mtime=0)), x="x", y="y") == (
            "d.csv, line 1: not text in UTF-8, got b'\\x8b'. "
            "It is gzipped: unpack it, or end the name of a data file in .gz."
        )

    @pytest.mark.parametrize(
        ("content", "line", "value"),
        [
            (b"x,y\n1,0\n2,\0\n", 3, b"\0"),
            (b"x,y\n1,caf\xe9\n", 2, b"\xe9"),
            ("x,y\n1,0\n".encode("utf-16"), 1, b"\xff"),
            (b"\x89PNG\r\n\x1a\n\0\0", 1, b"\x89"),
        ],
        ids=["NUL", "latin-1", "utf-16", "png"],
    )
    def test_not_text(self, write_file, content, line, value):
        assert refusal(write_file(content), x="x", y="y") == (
            f"d.csv, line {line}: not text in UTF-8, got {value!r}. Save it as CSV in UTF-8."
        )

    @pytest.mark.parametrize("content", ["", "\n \n", "\ufeff"])
    def test_empty(self, write_file, content):
        assert refusal(write_file(content), x="x", y="y") == (
            "d.csv is empty. Give a file of column names and examples."
        )

    def test_empty_gzip(self, write_file):
        assert refusal(write_file(b"", "d.csv.gz"), x="x", y="y") == (
            "d.csv.gz is empty. Give a file of column names and examples."
        )

    def test_header_only(self, write_file):
        assert refusal(write_file("x,y\n\n"), x="x", y="y") == (
            "d.csv has column names but no examples. Give more data."
        )

    @pytest.mark.parametrize(("row", "fields"), [("1", 1), ("1,0,", 3), ("1,000,1", 3)])
    def test_rows_of_another_length(self, write_file, row, fields):
        assert refusal(write_file(f'x,y\n"1\n",0\n{row}\n'), x="x", y="y") == (
            f"d.csv, line 4: expected 2 fields, as in line 1, got {fields}. "
            "Correct the line; a field that contains a comma needs quotes."
        )

    @pytest.mark.parametrize(
        ("text", "line", "what"),
        [
            ('x,y\n1,"0\n2,1\n', 3, "unexpected end of data"),
            ('x,y\n1,"0"1\n', 2, "',' expected after '\"'"),
            ("x,y\n" + "1" * 200_000 + ",0\n", 2, "field larger than field limit (131072)"),
        ],
        ids=["open quote", "text after a quote", "endless field"],
    )
    def test_not_csv(self, write_file, text, line, what):
        assert refusal(write_file(text), x="x", y="y") == (
            f"d.csv, line {line}: not CSV ({what}). Correct the quotes of the line."
        )


class TestColumns:
    @pytest.mark.parametrize("text", ["State-gov,39,0\nPrivate,50,1\n", "39,0,39\n50,1,0\n"])
    def test_no_header(self, write_file, text):
        assert refusal(write_file(text), x="age", y="y") == (
            "d.csv, line 1: expected the names of the columns, got '39'. Put a line of column names first."
        )

    def test_a_number_may_be_the_name_of_a_column(self, write_file):
        assert load_sample(write_file("2019,2020\n1,0\n2,1\n"), x="2019", y="2020").size == 2

    def test_a_name_twice(self, write_file):
        assert refusal(write_file("x,z,y,z\n1,1,0,1\n"), x="x", y="y") == (
            "d.csv, line 1: column names must be distinct, got 'z'. Rename the columns that share it."
        )

    def test_missing_with_a_near_one(self, write_file):
        assert refusal(write_file("Age,hours,y\n1,1,0\n"), x="age", y="y") == (
            "d.csv, line 1: no such column, got 'age'. "
            "Did you mean 'Age'? The columns are: 'Age', 'hours', 'y'."
        )

    def test_the_header_may_come_late(self, write_file):
        assert refusal(write_file("\n\nx,y\n1,0\n"), x="z", y="y") == (
            "d.csv, line 3: no such column, got 'z'. The columns are: 'x', 'y'."
        )

    def test_missing_with_none_near(self, write_file):
        assert refusal(write_file("x,y\n1,0\n"), x="x", y="label") == (
            "d.csv, line 1: no such column, got 'label'. The columns are: 'x', 'y'."
        )

    def test_missing_among_many(self, write_file):
        header = ",".join(f"c{i}" for i in range(30))
        assert refusal(write_file(f"{header}\n{header}\n"), x="zz", y="c1").endswith(
            "'c18', 'c19' and 10 more."
        )

    @pytest.mark.parametrize("mark", [";", "\t", "|"])
    def test_other_separators(self, write_file, mark):
        assert refusal(write_file(f"x{mark}y\n1{mark}0\n"), x="x", y="y") == (
            f"d.csv, line 1: no such column, got 'x'. The columns are: {f'x{mark}y'!r}. "
            f"They seem to be separated by {mark!r}: write commas."
        )

    def test_points_and_labels_from_one_column(self, write_file):
        assert refusal(write_file("x,y\n1,0\n0,1\n"), x=["x", "y"], y="y") == (
            "a column cannot hold both the points and the labels, got 'y'. Name two."
        )

    def test_no_column_for_the_points(self, write_file):
        assert refusal(write_file("x,y\n1,0\n0,1\n"), x=[], y="y") == (
            "points need at least one column, got []. Name one."
        )


class TestPoints:
    @pytest.mark.parametrize(
        "value", ["?", "", "Private", "nan", "inf", "-Infinity", "1e999", "1_000", "0x10"]
    )
    def test_not_a_finite_number(self, write_file, value):
        assert refusal(write_file(f"n,y,x\na,0,1\n\na,1,{value}\n"), x="x", y="y") == (
            f"d.csv, line 4, column 'x': a point must be a finite number, got {value!r}. "
            "Remove the line, write the value as a number, or name another column."
        )

    def test_the_shipped_letters(self):
        assert "column 'Odor': a point must be a finite number, got 'p'" in refusal(
            MUSHROOM, x="Odor", y="Poisonous/Edible", positive="p"
        )


class TestLabels:
    def test_more_than_two(self, write_file):
        assert refusal(write_file("x,y\n1,a\n2,b\n3,a\n4,\n5,c\n"), x="x", y="y", positive="a") == (
            "d.csv, column 'y': labels must take two values, found 4 (the third in line 5): "
            "'a', 'b', '', 'c'. Name a column of two values, or merge or remove the others."
        )

    def test_a_label_for_every_example(self, write_file):
        rows = "".join(f"{i},id{i}\n" for i in range(100))
        assert "'id19' and 80 more." in refusal(write_file("x,y\n" + rows), x="x", y="y", positive="id0")

    def test_one(self, write_file):
        assert refusal(write_file("x,y\n1,1\n2,1\n"), x="x", y="y") == (
            "d.csv, column 'y': labels must take two values, found 1: '1'. "
            "Name a column of two values, or merge or remove the others."
        )

    @pytest.mark.parametrize(
        "values", [("no", "yes"), ("1", "2"), ("-1", "1"), ("0", "0.0"), ("True", "False")]
    )
    def test_positive_is_needed(self, write_file, values):
        first, second = values
        assert refusal(write_file(f"x,y\n1,{first}\n2,{second}\n"), x="x", y="y") == (
            f"d.csv, column 'y': the labels are {first!r}, {second!r}, and it is not given which of them is "
            f"1. Name it, as in positive={first!r}."
        )

    @pytest.mark.parametrize(
        ("positive", "hint"),
        [
            (">50K", "Did you mean '>50K.' (note the '.' at the end)? "),
            (">50k.", "Did you mean '>50K.'? "),
            ("maybe", ""),
        ],
    )
    def test_positive_is_not_a_label(self, write_file, positive, hint):
        assert refusal(write_file("x,y\n1,<=50K.\n2,>50K.\n"), x="x", y="y", positive=positive) == (
            f"d.csv, column 'y': there is no such label, got {positive!r}. {hint}The labels are: '<=50K.', "
            "'>50K.'."
        )


def test_labels_are_whole_numbers_and_points_read_only(write_file):
    sample = load_sample(write_file("x,y\n1,0\n2,1\n"), x="x", y="y")
    assert sample.labels.dtype == np.int8
    assert not sample.points.flags.writeable


def test_integers_that_floats_do_not_hold_are_refused(write_file):
    with pytest.raises(InvalidArgument) as refused:
        load_sample(write_file("x,y\n9007199254740993,0\n1,1\n"), x="x", y="y", positive="1")
    assert "line 2, column 'x': integers must lie within ±2^53, where float64 is exact" in str(refused.value)
    assert load_sample(write_file("x,y\n1e300,0\n9007199254740994,1\n"), x="x", y="y", positive="1").size == 2
