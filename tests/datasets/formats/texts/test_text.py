"""Plain text as a corpus."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from motet.datasets import Corpus, open_dataset
from motet.domain.errors import BadInput


def corpus(path: Path) -> Corpus:
    dataset = open_dataset(path, kind="corpus")
    assert isinstance(dataset, Corpus)
    return dataset


def test_paragraphs_of_a_file_are_documents(write):
    text = "The whale swam.\nA ship came.\n\n  \nWhale and ship met!\n\nNothing here matches.\n"
    read = corpus(write("a.txt.gz", gzip.compress(text.encode())))
    assert read.vocabulary == ("ship", "whale")
    assert (read.document_count, list(read.words), list(read.counts)) == (2, [0, 1, 0, 1], [1] * 4)


def test_lines_are_documents_where_there_are_no_paragraphs(write):
    assert corpus(write("a.txt", "red ship\nblue ship\nred sky\n")).vocabulary == ("red", "ship")


def test_the_files_of_a_folder_are_documents_in_the_order_of_their_paths(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.txt").write_text("red red ship")
    (tmp_path / "a.md").write_text("blue ship")
    (tmp_path / "sub" / "c.txt.gz").write_bytes(gzip.compress(b"red blue"))
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden.txt").write_text("green")
    read = corpus(tmp_path)
    assert read.vocabulary == ("blue", "red", "ship")
    assert list(read.token_words) == [0, 2, 1, 1, 2, 0, 1]


def test_words_of_other_alphabets_are_words(write):
    read = corpus(write("a.txt", "größe zählt hier\nauch größe zählt\n"))
    assert read.vocabulary == ("größe", "zählt")


def test_text_that_is_not_utf8_is_read_as_windows_1252_with_a_note(write, tmp_path):
    note = "is not UTF-8: read as Windows-1252 (Western Europe)"
    content = "größe zählt\n\ngröße – zählt\n".encode("cp1252")
    read = corpus(write("a.txt", content))
    assert read.vocabulary == ("größe", "zählt")
    assert read.notes[0].startswith(note)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "plain.txt").write_text("größe zählt")
    (tmp_path / "sub" / "empty.txt").write_text("")
    (tmp_path / "sub" / "western.txt").write_bytes("größe zählt".encode("cp1252"))
    read = corpus(tmp_path / "sub")
    assert (read.document_count, read.vocabulary) == (2, ("größe", "zählt"))
    assert read.notes[0].startswith(f"1 of 3 files, such as western.txt: {note}")


RULE = (
    "of 3 to 30 letters that occur in 2 documents or more and in at most 50% of them, without "
    "222 frequent English words; at most 20,000"
)


def test_texts_without_a_common_word_are_refused(complaint):
    assert complaint("a.txt", "one ship\n\nblue whale\n", kind="corpus") == (
        f"a.txt: its 2 documents have no word in common; words count {RULE}"
    )


def test_one_document_is_no_corpus(complaint):
    assert complaint("a.txt", "one ship\n", kind="corpus") == (
        f"a.txt: holds one document only; words count {RULE}"
    )


def test_a_note_tells_which_words_count(write):
    read = corpus(write("a.txt", "the red ship\nthe blue ship\nthe red sky\n"))
    assert read.notes == (f"2 of 5 different words count: those {RULE}",)


def test_a_folder_without_texts_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"holds no documents; a folder needs files of \.txt"):
        corpus(tmp_path)


def test_a_table_that_is_read_as_text_has_a_note(write):
    lines = ["id,text", *["a,big red dog", "b,big green tree", "c,red tree house"] * 2]
    for name, is_noted in (("a.csv", True), ("a.txt", False)):
        corpus = open_dataset(write(name, "\n".join(lines)), kind="corpus", format="text")
        assert any("the words of all columns count" in note for note in corpus.notes) == is_noted


def test_words_that_are_given_count_in_every_text(write):
    path = write("a.txt", "whale ship\nzebra yak\nwhale whale the\n")
    read = open_dataset(path, kind="corpus", only=("ship", "the", "whale"))
    assert isinstance(read, Corpus)
    assert read.vocabulary == ("ship", "the", "whale")
    assert (read.document_count, list(read.words), list(read.counts)) == (
        3,
        [0, 2, 1, 2],
        [1, 1, 1, 2],
    )


def test_texts_without_a_word_that_counts_are_told(write):
    read = corpus(write("a.txt", "red ship\nblue ship\nred sky\nzebra\n"))
    assert read.document_count == 3
    assert read.notes[1:] == ("1 of 4 documents have no word that counts: left out",)


def test_stop_words_of_a_file_replace_the_english_ones(write, complaint):
    texts = write("a.txt", "der Hund und about\n\nund about der Ofen\n\nder kalte Winter\n")
    words = write("de.txt", "Der und\nkalte\n")
    read = open_dataset(texts, kind="corpus", stop_words=words)
    assert (read.vocabulary, read.document_count) == (("about",), 2)
    assert f"without 3 words of {words}" in read.notes[-2]
    said = complaint("t.csv", "a,b\n1,2\n", kind="unlabelled", stop_words=words)
    assert said == "t.csv: --stop-words does not apply to csv data; leave it out"
