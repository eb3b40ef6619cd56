"""The table of instances and the INSTANCE grammar."""

import shlex
import subprocess
import sys

import numpy as np
import pytest

from tutelage.errors import InputError
from tutelage.instances import INSTANCES, load
from tutelage.registry import parameters_of


@pytest.mark.parametrize("spec", ["paper", "uniform", "planted", "grenoble", "uniform:clients=1,arms=1"])
def test_name_reproduces_the_instance(spec):
    """An instance's name is an INSTANCE of the same means and weights, with every parameter spelled out."""
    first = load(spec)
    again = load(first.name)
    assert again.name == first.name
    assert np.array_equal(again.local_means, first.local_means)
    assert "rewards=bernoulli" in first.name


@pytest.mark.parametrize("name", list(INSTANCES))
def test_every_source_has_rewards_and_weights(name):
    """rewards= and weights= are parameters of every source, and every parameter is explained."""
    parameters = {item.name: item for item in parameters_of(INSTANCES.cls(name))}
    assert {"rewards", "weights"} <= set(parameters)
    assert all(item.help for item in parameters.values())
    assert INSTANCES.summary(name).endswith(".")


def test_import_is_light():
    """Importing the instances, and drawing one, loads neither numba nor xarray nor polars."""
    code = (
        "import sys, tutelage.instances as i; i.load('grenoble'); i.load('planted');"
        "print([m for m in ('numba', 'xarray', 'polars') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_bare_path_is_a_table(write):
    """A bare path to a table is an INSTANCE, also with options after a comma."""
    path = write("means.csv", "0.2,0.9\n0.4,0.1\n")
    assert load(path).num_arms == 2
    assert load(f"{path},rewards=constant").rewards == load("paper:rewards=constant").rewards
    assert load(path).name == f"table:{path},rewards=bernoulli"


def test_quoted_path(write):
    """A path with a comma, a colon, an equals sign or a parenthesis is quoted, and is so in the name."""
    path = write("a,b=c (1)/means:x.csv", "0.2,0.9\n0.4,0.1\n")
    for spec in (
        f'table:"{path}",rewards=constant',
        f"'{path}',rewards=constant",
        f'table:rewards=constant,path="{path}"',
    ):
        instance = load(spec)
        assert instance.num_clients == 2
        assert np.array_equal(load(instance.name).local_means, instance.local_means)


@pytest.mark.parametrize("name", ["100%,b=2.csv", "a,b.csv", "it's.csv", "means (1.csv", 'two" inch.csv'])
@pytest.mark.parametrize("source", ["", "table:"])
@pytest.mark.parametrize("options", ["", ",rewards=constant"])
def test_unquoted_path_is_explained(write, name, source, options):
    """A path that needs quotes is refused with the INSTANCE that works, as one argument for a shell."""
    path = write(name, "0.2,0.9\n0.4,0.1\n")
    spec = f"{source}{path}{options}"
    with pytest.raises(InputError, match="needs quotes") as caught:
        load(spec)
    shown = str(caught.value).partition("as in ")[2].rpartition("; in a shell")[0]
    (argument,) = shlex.split(shown)
    assert load(argument).local_means.tolist() == [[0.2, 0.9], [0.4, 0.1]]


def test_path_like_an_argument_is_explained(write, monkeypatch, refuses, tmp_path):
    """So is one that reads as key=value."""
    write("x=1.csv", "0.2,0.9\n")
    monkeypatch.chdir(tmp_path)
    refuses("table:x=1.csv", "needs quotes", """'table:"x=1.csv"'""")
    assert load('table:"x=1.csv"').num_arms == 2


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("{}", ("is a folder", "movielens:{}")),
        ("{}/none,b=2.csv", ("There is no file", "in quotes")),
        ("{}/none", ("There is no file", "{}/none")),
    ],
)
def test_folders_and_missing_files(refuses, tmp_path, spec, words):
    """A folder and a path of nothing are called so."""
    refuses(spec.format(tmp_path), *(word.format(tmp_path) for word in words))


def test_path_with_a_quote_in_it(write):
    """A path with an apostrophe goes in double quotes, and the name says so."""
    path = write("it's.csv", "0.2,0.9\n")
    instance = load(f'table:"{path}"')
    assert load(instance.name).name == instance.name


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("", ("empty",)),
        ("papr", ("'papr'", "did you mean 'paper'")),
        ("unifrom:clients=5", ("'unifrom'", "did you mean 'uniform'")),
        ("movielen:ml.zip", ("did you mean 'movielens'",)),
        ("uniform:client=5", ("'client'", "did you mean 'clients'")),
        ("uniform:clients=5,clients=6", ("'clients' appears twice",)),
        ("uniform:clients=five", ("clients=five", "whole number")),
        ("uniform:clients=1.5e0", ("clients=1.5e0", "whole number")),
        ("uniform:clients=1e999999999", ("whole number",)),
        ("uniform:clients=0", ("clients=0", "a whole number of at least 1")),
        ("uniform:arms=-3", ("arms=-3",)),
        ("uniform:clients=1000000000", ("1000000000 clients", "use fewer")),
        ("uniform:seed=-1", ("seed=-1", "a whole number of at least 0")),
        ("planted:seed=-1", ("seed=-1", "a whole number of at least 0")),
        ("grenoble:seed=-1", ("seed=-1", "a whole number of at least 0")),
        ("planted:gap=0,1", ("'1'", "write a point")),
        ("uniform:5", ("'5'", "key=value")),
        ("uniform,clients=5", ("uniform:clients=5",)),
        ("uniform(clients=5)", ("uniform:clients=5",)),
        ("table", ("needs path",)),
        ("table:", ("needs path",)),
        ("table:a.csv,path=b.csv", ("'path' appears twice",)),
        ("table:missing.csv", ("no file or folder 'missing.csv'",)),
        ("missing.csv", ("no file or folder 'missing.csv'",)),
        ("movielens:missing.zip", ("no file or folder 'missing.zip'",)),
        ("radio:missing.k7", ("no file or folder 'missing.k7'",)),
        ("movielens:a,b.csv", ("'b.csv'", "quotes")),
        ('movielens:"a.csv', ("closing",)),
        ("paper:rewards=gauss", ("gauss", "bernoulli")),
        ("paper:rewards=beta(0)", ("concentration",)),
        ("paper:rewards=empirical", ("'paper' has none", "movielens")),
        ("uniform:rewards=empirical", ("'uniform' has none",)),
        ("planted:rewards=empirical", ("'planted' has none",)),
        ("grenoble:rewards=empirical", ("radio:PATH,rewards=empirical",)),
        ("grenoble:clients=10000", ("clients=10000", "use at most")),
    ],
)
def test_bad_instances(refuses, spec, words):
    """What cannot be an instance is refused in one sentence with the value and the remedy."""
    refuses(spec, *words)


def test_whole_numbers_with_an_exponent():
    """2e1 is 20."""
    assert load("uniform:clients=2e1,arms=1_0").local_means.shape == (20, 10)


def test_installed_source():
    """package.module:Name(...) names a source that an installed package brings."""
    assert load("tutelage.instances.uniform:Uniform(clients=2,arms=3)").num_arms == 3


def test_installed_name_that_is_no_source():
    """An installed name that is not a class is an error, not a crash."""
    with pytest.raises(InputError, match="not a class"):
        load("tutelage.instances.paper:LOCAL_MEANS")
