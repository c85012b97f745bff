"""Small data of one's own, written as a person would have them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from PIL import Image

SIDE = 12


def pictures(folder: Path, **clients: dict[str, int]) -> Path:
    """A folder a client and a class, with so many pictures: bright to the left for the first class, else right."""
    for number, (client, classes) in enumerate(clients.items()):
        generator = np.random.default_rng(number)
        for place, (label, count) in enumerate(classes.items()):
            (folder / client / label).mkdir(parents=True)
            for each in range(count):
                pixels = generator.integers(0, 80, (SIDE, SIDE, 3))
                half = slice(0, SIDE // 2) if place == 0 else slice(SIDE // 2, SIDE)
                pixels[:, half] += 120
                Image.fromarray(pixels.astype(np.uint8)).save(folder / client / label / f"{each}.png")
    return folder


def three_hospitals(folder: Path, count: int = 30) -> Path:
    """Clients a, b and c, each with as many of both classes."""
    return pictures(folder, **{name: {"healthy": count, "ill": count} for name in "abc"})


def disagreeing_tables(folder: Path, rows: int = 200) -> Path:
    """Clients a, b and c with the columns age, mark and sick: what the mark says of who is sick differs."""
    folder.mkdir(parents=True)
    for seed, (client, effect) in enumerate({"a": 2.0, "b": 1.0, "c": 0.2}.items()):
        generator = np.random.default_rng(seed)
        sick = generator.integers(0, 2, rows)
        ages, marks = (generator.normal(each * (2 * sick - 1), 1) for each in (0.5, effect))
        lines = (f"{age},{mark},{ill}\n" for age, mark, ill in zip(ages, marks, sick, strict=True))
        (folder / f"{client}.csv").write_text("age,mark,sick\n" + "".join(lines))
    return folder


def shortcut_tables(folder: Path, rows: int = 1000) -> Path:
    """Clients a, b and c with the columns age, mark and sick: the age tells who is sick with a quarter of mistakes, the
    mark with a tenth at a, three tenths at b, and nine tenths at c. With 300 rows a game is settled too, but weights
    leave so much of the mark that c is at 48%."""
    folder.mkdir(parents=True)
    for seed, (client, flip) in enumerate({"a": 0.1, "b": 0.3, "c": 0.9}.items()):
        generator = np.random.default_rng(seed)
        sick = generator.integers(0, 2, rows)
        ages = (2 * sick - 1) * np.where(generator.random(rows) < 0.25, -1, 1) + 0.3 * generator.normal(size=rows)
        marks = np.where(generator.random(rows) < flip, 1 - sick, sick) + 0.1 * generator.normal(size=rows)
        lines = (f"{age:.3f},{mark:.3f},{ill}\n" for age, mark, ill in zip(ages, marks, sick, strict=True))
        (folder / f"{client}.csv").write_text("age,mark,sick\n" + "".join(lines))
    return folder


def table(
    path: Path, rows: int = 40, seed: int = 0, first: dict[str, str] | None = None, name: str | None = None
) -> Path:
    """A CSV file with the columns age, dose and sick; ``first`` replaces cells of the first row, and every row has the
    ``name``, if there is one."""
    generator = np.random.default_rng(seed)
    ages, doses = generator.normal(50, 10, rows), generator.normal(2, 1, rows)
    sick = (ages + generator.normal(0, 5, rows) > 50).astype(int)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, ["age", "dose", "sick", *(["name"] if name else [])])
        writer.writeheader()
        for row, (age, dose, ill) in enumerate(zip(ages, doses, sick, strict=True)):
            values: dict[str, object] = {"age": age, "dose": dose, "sick": ill} | ({"name": name} if name else {})
            writer.writerow(values | (first or {} if row == 0 else {}))
    return path


def messy_table(path: Path, flips: dict[str, float] | None = None, rows: int = 240) -> Path:
    """One file with the rows of all clients, as people have them.

    It numbers the rows, names the patients, and has words, truths, dates, empty cells and a rare word. The ward tells
    who is ill as the clients' ``flips`` say; age and smoking tell it everywhere.
    """
    lines = [",patient,site,age,sex,smoker,visit,ward,blood,ill"]
    for seed, (site, flip) in enumerate((flips or {"north": 0.05, "south": 0.25, "west": 0.9}).items()):
        generator = np.random.default_rng(seed)
        for row in range(rows):
            ill = generator.integers(0, 2)
            age = "" if generator.random() < 0.1 else f"{generator.normal(50 + 8 * ill, 10):.1f}"
            sex = "" if generator.random() < 0.05 else generator.choice(["F", "M"])
            smoker = bool(generator.random() < 0.3 + 0.3 * ill)
            visit = np.datetime64("2024-01-01") + int(generator.integers(0, 300))
            ward = "blue" if (generator.random() < flip) != ill else "green"
            blood = "Bombay" if row == 7 else generator.choice(["A", "B", "AB", "0"])
            cells = (f"P{seed}-{row}", site, age, sex, smoker, visit, ward, blood, "yes" if ill else "no")
            lines.append(",".join(map(str, (len(lines), *cells))))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path
