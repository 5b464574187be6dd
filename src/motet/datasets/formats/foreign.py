"""Files of formats that Motet does not read, known by their first bytes."""

from __future__ import annotations

from motet.datasets.files import Head, InputFile
from motet.domain.errors import BadInput

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_ZIP = b"PK\x03\x04"
_ZIP_NAME_AT = 30
_WORKBOOK_PARTS = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/", b"mimetypeapplication")
_MAGIC = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ("an Excel workbook", "read_excel"),
    b"PAR1": ("a Parquet file", "read_parquet"),
    b"ARROW1": ("a Feather file", "read_feather"),
    b"\x89HDF": ("an HDF5 file", "read_hdf"),
}


def refuse_foreign(file: InputFile) -> None:
    """Raise `BadInput` for UTF-16 and for files that pandas can convert to CSV."""
    start = file.head.start
    if start.startswith(_UTF_16):
        remedy = 'save it as UTF-8 (Excel: "CSV UTF-8"; iconv -f UTF-16 -t UTF-8)'
        raise file.complaint("is UTF-16, not UTF-8", remedy)
    if start.startswith(_ZIP) and start[_ZIP_NAME_AT:].startswith(_WORKBOOK_PARTS):
        raise _convert(file, "a workbook of Excel or another office program", "read_excel")
    for magic, (described, reader) in _MAGIC.items():
        if start.startswith(magic):
            raise _convert(file, described, reader)


def refusal_of_json(file: InputFile, head: Head) -> BadInput | None:
    """Return the error for JSON, which only an otherwise unknown file is taken for."""
    if head.is_text and head.start.lstrip()[:1] in (b"{", b"["):
        return _convert(file, "JSON", "read_json")
    return None


def _convert(file: InputFile, described: str, reader: str) -> BadInput:
    call = f"pandas.{reader}({file.path.name!r}).to_csv('data.csv', index=False)"
    return file.complaint(
        f"is {described}, which Motet does not read", f"convert it to CSV: {call}"
    )
