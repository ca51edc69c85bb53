"""Reading samples from CSV: what is read, and every refusal."""

import csv
import gzip
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

    @pytest.mark.thorough
    def test_several_columns_make_points_of_several_coordinates(self):
        sample = load_sample(ADULT, x=["age", "hours-per-week"], y="sex", positive="Female")
        with gzip.open(ADULT, "rt", newline="") as file:
            plain = Counter(
                ((float(row["age"]), float(row["hours-per-week"])), int(row["sex"] == "Female"))
                for row in csv.DictReader(file)
            )
        assert as_counter(sample) == plain
        assert sample.points.shape[1:] == (2,)

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
            "2019,x,y\n,1,0\n,2.5,1\n",
        ],
    )
    def test_ways_to_write_the_same_sample(self, write_file, text):
        sample = load_sample(write_file(text), x="x", y="y")
        assert sample == Sample([1, 2.5], [0, 1])
        assert sample == load_sample(Path(write_file(gzip.compress(text.encode()), "d.csv.gz")), x="x", y="y")

    @pytest.mark.parametrize("positive", ["yes", " yes "])
    def test_positive_names_label_1(self, write_file, positive):
        name = write_file("x,y\n1,no\n2, yes\n")
        assert load_sample(name, x="x", y="y", positive=positive) == Sample([1, 2], [0, 1])
        assert load_sample(name, x=["x"], y="y", positive="no") == Sample([[1], [2]], [1, 0])

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


# Content of d.csv, the columns and options, and the beginning of the refusal after the name of the file.
REFUSALS = [
    ("", {}, " is empty. Give a file of column names and examples."),
    ("\n \n", {}, " is empty. Give a file of column names and examples."),
    ("\ufeff", {}, " is empty. Give a file of column names and examples."),
    ("x,y\n\n", {}, " has column names but no examples. Give more data."),
    # not text, or not CSV
    (b"x,y\n1,0\n2,\0\n", {}, ", line 3: not text in UTF-8, got b'\\x00'. Save it as CSV in UTF-8."),
    (b"x,y\n1,caf\xe9\n", {}, ", line 2: not text in UTF-8, got b'\\xe9'. Save it as CSV in UTF-8."),
    ("x,y\n1,0\n".encode("utf-16"), {}, ", line 1: not text in UTF-8, got b'\\xff'. Save it as CSV in"),
    (gzip.compress(b"x,y\n", mtime=0), {}, ", line 1: not text in UTF-8, got b'\\x8b'. It is gzipped:"),
    ('x,y\n1,"0\n2,1\n', {}, ", line 3: not CSV (unexpected end of data). Correct the quotes of the line."),
    ('x,y\n1,"0"1\n', {}, ", line 2: not CSV (',' expected after '\"'). Correct the quotes of the line."),
    ("x,y\n" + "1" * 200_000 + ",0\n", {}, ", line 2: not CSV (field larger than field limit (131072))."),
    # rows and columns
    ('x,y\n"1\n",0\n1\n', {}, ", line 4: expected 2 fields, as in line 1, got 1. Correct the line; a field "),
    ('x,y\n"1\n",0\n1,000,1\n', {}, ", line 4: expected 2 fields, as in line 1, got 3. Correct the line; "),
    ("39,0,39\n50,1,0\n", {}, ", line 1: expected the names of the columns, got '39'. Put them first."),
    ("a,39,0\nb,50,1\n", {}, ", line 1: expected the names of the columns, got '39'. Put them first."),
    ("x,z,y,z\n1,1,0,1\n", {}, ", line 1: column names must be distinct, got 'z'. Rename one."),
    ("X,h,y\n1,1,0\n", {}, ", line 1: no such column, got 'x'. Did you mean 'X'? The columns are: 'X',"),
    ("\n\nx,y\n1,0\n", {"x": "z"}, ", line 3: no such column, got 'z'. The columns are: 'x', 'y'."),
    ("x;y\n1;0\n", {}, ", line 1: no such column, got 'x'. The columns are: 'x;y'. They seem to be"),
    ("x\ty\n1\t0\n", {}, ", line 1: no such column, got 'x'. The columns are: 'x\\ty'. They seem to be"),
    # points
    *(
        (f"n,y,x\na,0,1\n\na,1,{value}\n", {}, ", line 4, column 'x': a point must be a finite number, got ")
        for value in ("?", "", "Private", "nan", "-Infinity", "1e999", "1_000", "0x10")
    ),
    ("x,y\n9007199254740993,0\n1,1\n", {}, ", line 2, column 'x': integers must lie within ±2^53, where"),
    # labels
    (
        "x,y\n1,a\n2,b\n4,\n5,c\n",
        {},
        ", column 'y': labels must take two values, found 4 (the third in line 4)",
    ),
    ("x,y\n1,1\n2,1\n", {}, ", column 'y': labels must take two values, found 1: '1'. Name a column of"),
    *(
        (f"x,y\n1,{a}\n2,{b}\n", {}, f", column 'y': the labels are {a!r}, {b!r}, and it is not given")
        for a, b in (("no", "yes"), ("1", "2"), ("0", "0.0"))
    ),
    *(
        (
            "x,y\n1,<=50K.\n2,>50K.\n",
            {"positive": positive},
            f", column 'y': there is no such label, got {positive!r}. {hint}The labels are: '<=50K.', ",
        )
        for positive, hint in (
            (">50K", "Did you mean '>50K.' (note the '.' at the end)? "),
            (">50k.", "Did you mean '>50K.'? "),
            ("maybe", ""),
        )
    ),
    # users
    *(
        (
            f"u,x,y\nb,1,0\n{value},2,1\n",
            {"user": "u"},
            ", line 3, column 'u': every example must have a user",
        )
        for value in ("", "NaN", "?", "null")
    ),
]


@pytest.mark.parametrize(("content", "options", "message"), REFUSALS)
def test_a_refusal_names_the_file_the_line_and_the_remedy(write_file, content, options, message):
    said = refusal(write_file(content), **{"x": "x", "y": "y"} | options)
    assert said.startswith(f"d.csv{message}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": ["x", "y"]}, "a column cannot hold both the points and the labels, got 'y'. Name two."),
        ({"x": []}, "points need at least one column, got []. Name one."),
        ({"user": "x"}, "the users need a column of their own, got "),
        ({"user": "y"}, "the users need a column of their own, got "),
    ],
)
def test_columns_that_do_not_go_together(write_file, options, message):
    assert refusal(write_file("x,y\n1,0\n0,1\n"), **{"x": "x", "y": "y"} | options).startswith(message)


def test_long_lists_are_cut(write_file):
    header = ",".join(f"c{i}" for i in range(30))
    assert refusal(write_file(f"{header}\n{header}\n"), x="zz", y="c1").endswith("'c18', 'c19' and 10 more.")
    rows = "".join(f"{i},id{i}\n" for i in range(100))
    assert "'id19' and 80 more." in refusal(write_file("x,y\n" + rows), x="x", y="y", positive="id0")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"x,y\n1,0\n", "Not a gzipped file (b'x,')"),
        (gzip.compress(b"x,y\n1,0\n2,1\n")[:-9], "Compressed file ended before the end-of-stream marker"),
        (
            gzip.compress(b"x,y\n", mtime=0)[:10] + b"\xff" * 20,
            "Error -3 while decompressing data: invalid block ",
        ),
    ],
    ids=["plain", "cut", "broken"],
)
def test_not_gzip(write_file, content, what):
    assert refusal(write_file(content, "d.csv.gz"), x="x", y="y").startswith(
        f"d.csv.gz is not complete gzip data, though its name ends in .gz ({what}"
    )


def test_labels_are_whole_numbers_and_points_read_only(write_file):
    sample = load_sample(write_file("x,y\n1,0\n2,1\n"), x="x", y="y")
    assert sample.labels.dtype == np.int8
    assert not sample.points.flags.writeable


def test_large_floats_are_points(write_file):
    assert load_sample(write_file("x,y\n1e300,0\n9007199254740994,1\n"), x="x", y="y", positive="1").size == 2
