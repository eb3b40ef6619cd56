"""K7 traces as instances, and the built-in Grenoble table."""

import gzip
import importlib.resources
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from tutelage.instances import load
from tutelage.instances.grenoble import main, packaged_table
from tutelage.instances.readers.k7 import read_k7

HEADER = json.dumps({"location": "here", "channels": [11, 12], "node_count": 3})
COLUMNS = "datetime,src,dst,channel,mean_rssi,pdr,tx_count"


def k7(*lines, header=HEADER, columns=COLUMNS):
    """A K7 file of (time, src, dst, channel, pdr) lines."""
    rows = [f"2018-01-01T00:00:{t:02d}.0,{src},{dst},{ch},-70.0,{pdr},100" for t, src, dst, ch, pdr in lines]
    return "\n".join([header, columns, *rows]) + "\n"


# Two rounds on each channel.  Node 2 hears node 0 always, node 1 in one round of two on channel 11;
# node 1 hears node 0 in the first round on each channel and then falls silent: it has broken down.
LINES = [
    (1, 0, 2, 11, 0.8), (2, 0, 1, 11, 0.6), (3, 1, 2, 11, 0.4),
    (4, 0, 2, 12, 0.7), (5, 0, 1, 12, 0.5), (6, 1, 2, 12, 0.3),
    (7, 0, 2, 11, 0.6), (8, 2, 0, 11, 0.2),
    (9, 0, 2, 12, 0.9), (10, 1, 2, 12, 0.5), (11, 2, 0, 12, 0.4),
]  # fmt: skip


def test_cells_of_links(write):
    """A mean is over the rounds in which the link's receiver listened and its sender sent.

    Node 1 is silent from the second round on, so 0 -> 1 has one burst a channel, not a zero.  1 -> 2 is not
    heard in the second round on channel 11, but node 1 sent nothing there that anybody heard.
    """
    instance = load("radio:" + write("a.k7", k7(*LINES)) + ",clients=4,least=0,most=1")
    assert instance.client_names == ("0 -> 1", "0 -> 2", "1 -> 2", "2 -> 0")
    assert instance.arm_names == ("channel 11", "channel 12")
    assert np.allclose(instance.local_means, [[0.6, 0.5], [0.7, 0.8], [0.4, 0.4], [0.2, 0.4]])


def test_unheard_burst_is_zero(write):
    """A burst that others heard and a listening receiver did not counts as 0, also in the samples."""
    lines = [*LINES, (7, 1, 0, 11, 0.9)]  # node 0 hears node 1 in the round in which node 2 does not
    instance = load("radio:" + write("a.k7", k7(*lines)) + ",clients=5,least=0,most=1,rewards=empirical")
    row = instance.client_names.index("1 -> 2")
    assert np.isclose(instance.local_means[row, 0], 0.2)
    samples, cell = instance.samples, row * 2
    assert samples.values[samples.offsets[cell] : samples.offsets[cell + 1]].tolist() == [0.0, 0.4]


def test_transactions_are_rounds(write):
    """A transaction_id says which bursts belong together, whatever the order of the lines."""
    lines = ["2018-01-01T00:00:01,a,b,[11],-70,0.8,100,0", "2018-01-01T00:00:02,a,b,[12],-70,0.6,100,0"]
    lines += ["2018-01-01T00:00:03,a,c,[11],-70,0.5,100,0", "2018-01-01T00:00:04,a,c,[12],-70,0.5,100,0"]
    lines += ["2018-01-01T00:00:05,a,b,[11],-70,0.4,100,1", "2018-01-01T00:00:06,a,b,[11;12],-70,0.4,100,1"]
    content = "\n".join([HEADER, "datetime,src,dst,channels,mean_rssi,pdr,tx_count,transaction_id", *lines])
    instance = load("radio:" + write("a.k7", content) + ",clients=2")
    assert instance.client_names == ("a -> b", "a -> c")
    assert np.allclose(instance.local_means, [[0.6, 0.6], [0.5, 0.5]])
    assert dict(instance.notes)["skipped"].startswith("1 lines")


def test_senders(write):
    """of=senders: the mean is over the bursts of all links of a sender."""
    instance = load("radio:" + write("a.k7", k7(*LINES)) + ",of=senders,clients=3")
    assert instance.client_names == ("sender 0", "sender 1", "sender 2")
    assert np.isclose(instance.local_means[0, 0], (0.8 + 0.6 + 0.6) / 3)
    assert "least=0,most=1" in instance.name


def test_imperfect_by_default(write):
    """Links of mean delivery below .1 or above .95 are left out unless asked for."""
    lines = [(1, 0, 1, 11, 1.0), (2, 0, 2, 11, 0.5), (3, 1, 2, 11, 0.05)]
    lines += [(time + 3, src, dst, 12, pdr) for time, src, dst, _, pdr in lines]
    path = write("a.k7", k7(*lines))
    instance = load(f"radio:{path},clients=1")
    assert instance.client_names == ("0 -> 2",)
    assert dict(instance.notes)["links"] == "1 of the 1 with mean delivery 0.1 to 0.95; 3 delivered anything"
    assert load(f"radio:{path},clients=3,least=0,most=1").num_clients == 3
    assert load(instance.name).name == instance.name


@pytest.mark.parametrize("packing", ["gz", "folder", "zip"])
def test_packings(write, tmp_path, packing):
    """A gzipped file, a folder and an archive read like the plain file."""
    content = k7(*LINES).encode()
    plain = read_k7(write("a.k7", content))
    if packing == "gz":
        path = write("b.k7.gz", gzip.compress(content))
    elif packing == "folder":
        path = str((tmp_path / write("in/b.k7.gz", gzip.compress(content))).parent)
    else:
        path = str(tmp_path / "k.zip")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("k/b.k7", content)
    assert np.array_equal(read_k7(path).observed.means, plain.observed.means)


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (k7(*LINES), "clients=5,least=0,most=1", ("clients=5", "4 links", "at most 4")),
        (k7(*LINES), "clients=4,of=senders", ("clients=4", "3 senders")),
        (k7(*LINES), "of=nodes", ("of=nodes", "senders")),
        (k7(*LINES), "least=.9,most=.1", ("least=0.9",)),
        (k7(*LINES), "clients=0", ("clients=0",)),
        (k7(*LINES), "seed=-1", ("seed=-1",)),
        (k7((1, 0, 1, 11, 0.5)), "clients=1", ("no bursts of 0 -> 1 for channel 12",)),
        (k7((1, 0, 1, 11, 50)), "", ("50", "line 3", "percentages")),
        (k7((1, 0, 1, 11, "nan")), "", ("nan", "line 3")),
        (k7((1, 0, 1, 11, "many")), "", ("many", "line 3")),
        (k7((1, 0, 1, 11, "")), "", ("Line 3", "no pdr")),
        (k7((1, 0, "", 11, 0.5)), "", ("no measurement of a link",)),
        (k7(), "", ("no lines of measurements",)),
        (k7(columns="datetime,src,dst,pdr"), "", ("no column 'channel'",)),
        (COLUMNS + "\n", "", ("not a K7 file",)),
        (HEADER + "\n", "", ("not a K7 file",)),
        ('{"channels": [11]\n' + COLUMNS + "\n", "", ("not JSON",)),
        ("", "", ("is empty",)),
        (b"\x00\x01", "", ("not a text file",)),
        (gzip.compress(k7(*LINES).encode(), mtime=0)[:-9], "", ("cannot be read",)),
    ],
)
def test_refused(refuses, write, content, options, words):
    """A file of another format, or with too few links, is refused in a sentence."""
    refuses(f"radio:{write('a.k7', content)},{options}".rstrip(","), *words)


def test_folder_without_k7(refuses, tmp_path):
    """A folder without a K7 file is refused."""
    refuses(f"radio:{tmp_path}", "no K7 file")


def test_grenoble_table():
    """The packaged table: 16 channels, links of mean delivery .1 to .95, source, licence."""
    facts, names, channels, means = packaged_table()
    assert channels == tuple(range(11, 27))
    assert means.shape == (len(names), 16)
    assert np.all((means.mean(axis=1) >= 0.1 - 1e-6) & (means.mean(axis=1) <= 0.95 + 1e-6))
    assert facts["links"].startswith(f"{len(names)} with mean delivery 0.1 to 0.95")
    assert {"source", "licence", "made by", "described in"} <= set(facts)


def test_grenoble_instance():
    """15 of the links by default; another seed takes others; the notes say how many are imperfect."""
    instance = load("grenoble")
    assert instance.local_means.shape == (15, 16)
    assert instance.arm_names[0] == "channel 11"
    assert " -> " in instance.client_names[0]
    assert dict(instance.notes)["links"].startswith("15 of the ")
    assert load("grenoble:seed=1").client_names != instance.client_names


def test_grenoble_is_made_from_the_file(data):
    """The command in the table's own notice makes the table, byte for byte."""
    command = [sys.executable, "-m", "tutelage.instances.grenoble", str(data / "grenoble-k7" / "grenoble.k7.gz")]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    packaged = importlib.resources.files("tutelage.instances") / "data"
    assert (packaged / "grenoble.csv").read_text(encoding="utf-8") == made
    licence = (data / "grenoble-k7" / "LICENSE").read_text(encoding="utf-8")
    assert (packaged / "grenoble-LICENSE.txt").read_text(encoding="utf-8") == licence


def test_grenoble_draws_as_radio(data):
    """grenoble is radio on the K7 file: the same links, the same means to six decimals."""
    packaged, measured = (load("grenoble:clients=20,seed=3"), load(f"radio:{data}/grenoble-k7,clients=20,seed=3"))
    assert packaged.client_names == measured.client_names
    assert np.allclose(packaged.local_means, measured.local_means, rtol=0, atol=5.1e-7)


def test_grenoble_rounds(data):
    """The measurement is 19 rounds of 16 channels; a link that was always heard has 19 bursts a channel."""
    sizes = read_k7(str(data / "grenoble-k7")).observed.sizes
    assert sizes.max() == 19
    assert sizes.min() >= 1


def test_grenoble_command_refuses(capsys, tmp_path):
    """The command ends with status 2 and one sentence where it cannot make the table."""
    assert main([]) == 2
    assert main([str(tmp_path / "missing.k7")]) == 2
    assert "missing.k7" in capsys.readouterr().err


@pytest.mark.parametrize("channel", ["999999999999999999999999999999", "true", "-1", "9" * 5000])
def test_odd_channels(refuses, write, channel):
    """A channel in the header that is none is refused."""
    header = '{"channels": [' + channel + ", 11]}"
    words = ("too many digits",) if len(channel) > 4300 else (f"channel {channel} in the first line",)
    refuses("radio:" + write("a.k7", k7(*LINES, header=header)), *words)


def test_nodes_in_order(write):
    """By number, then other names; a number may be longer than Python reads."""
    nodes = ["x", "9" * 5000, "10", "9"]
    lines = [(t, node, "0", 11, 0.5) for t, node in enumerate(nodes)]
    assert [sender for sender, _ in read_k7(write("a.k7", k7(*lines))).links] == [*nodes[:0:-1], "x"]
