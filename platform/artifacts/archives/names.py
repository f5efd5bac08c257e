"""Names of archive members as text. Pure."""

# What Chinese text is made of: CJK punctuation and ideographs, full-width forms.
_CHINESE = ((0x3000, 0x303F), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF00, 0xFFEF))


def decoded_name(raw: bytes) -> str:
    """A name whose encoding nobody declared: UTF-8, or what Chinese Windows writes, or what DOS wrote."""
    for encoding in ("utf-8", "gb18030"):
        try:
            name = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        if encoding == "utf-8" or all(_is_chinese(char) for char in name if not char.isascii()):
            return name
    return raw.decode("cp437")


def _is_chinese(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in _CHINESE)
