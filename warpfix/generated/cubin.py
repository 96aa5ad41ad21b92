"""Machine code out of cubins: one digest for each kernel entry, by what the GPU executes.

A cubin is an ELF file of 64 bits. Two entries with equal digests run the same instructions over the same constants,
with the same registers, stack, shared memory, launch bounds and parameters. What a digest covers: the entry's
instructions (functions that it calls lie in them, or are followed), its own sections (constants, shared and local
memory), its attributes (``.nv.info``), and the data and external functions that it refers to. What it leaves out:
names, line numbers, debug information, the compiler's notes.

One thing is not taken as it stands. Addresses of a module's variables and strings are read from a table that all of
its kernels share (constant bank 4; ``__constant__`` data lies in bank 3). Where in the table an address stands depends
on the module's other kernels, so an instruction's offset into it is replaced by what stands there. Where that can't be
told, the bytes stay as they are: two equal kernels may then seem different, never two different ones equal.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

ENTRY = re.compile(r"(?P<kernel>.+)_cuda_kernel_(?P<part>forward|backward)\Z")
"""The name of a kernel entry, as Warp makes it."""

_NOBITS = 8
_REL, _RELA = 9, 4
_FUNCTION = 2
_INFO_PARAMETERS, _INFO_EXTERNS = 0x0A, 0x0F
_INSTRUCTION = 16
_NO_REGISTER = 255
_LOADS_CONSTANT = (0xB82, 0xAB9, 0x7AC)  # LDC, ULDC, LDCU
_LDCU = 0x7AC
_SETS_REGISTER = (0x802, 0x424, 0x431, 0x435)  # MOV, IMAD.MOV, HFMA2 and HFMA2.MMA with an immediate value
_LOOK_BACK = 64
# The compiler's name for what is private to one file holds the file's name: its length stands before it.
_PRIVATE = re.compile(r"(\d+)(?=_INTERNAL_|_GLOBAL__N_)")
_STRING = re.compile(r"\$str(?:\$\d+)?\Z")


class NotACubin(ValueError):
    """The bytes are no cubin, or one that was cut."""


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    size: int
    info: int
    data: bytes


@dataclass(frozen=True)
class _Symbol:
    name: str
    section: int
    kind: int
    other: int
    value: int
    size: int


def cubin_code(data: bytes) -> dict[str, dict[str, str]]:
    """Digest the machine code of every kernel entry of a cubin.

    Args:
        data: The file's bytes.

    Returns:
        Warp's mangled kernel name (``scale_4532749a``) to ``forward`` and, where there is one, ``backward``, each to
        the digest of that entry.

    Raises:
        NotACubin: The bytes are no ELF file of 64 bits, or the file is cut short.
    """
    try:
        cubin = _Cubin(data)
        found: dict[str, dict[str, str]] = {}
        for name in cubin.texts:
            match = ENTRY.match(name)
            if match:
                digest = hashlib.sha256(repr(cubin.entry(name, match["kernel"])).encode()).hexdigest()[:32]
                found.setdefault(match["kernel"], {})[match["part"]] = digest
        return found
    except (struct.error, IndexError, ValueError) as error:
        raise NotACubin(str(error)) from error


class _Cubin:
    def __init__(self, data: bytes) -> None:
        if data[:5] != b"\x7fELF\x02":
            raise NotACubin("no ELF file of 64 bits")
        (offset,) = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3A)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + number * size) for number in range(count)]
        (self.flags,) = struct.unpack_from("<I", data, 0x30)
        self.old_abi = data[8] < 8
        texts = data[headers[names][4] : headers[names][4] + headers[names][5]]
        self.sections: list[_Section] = []
        for name, kind, flags, _, place, length, _, info, _, _ in headers:
            content = b"" if kind == _NOBITS else data[place : place + length]
            if len(content) != (0 if kind == _NOBITS else length):
                raise NotACubin("the file is cut short")
            self.sections.append(_Section(_string(texts, name), kind, flags, length, info, content))
        self.by_name = {section.name: number for number, section in enumerate(self.sections)}
        self.symbols = self._symbols()
        self.texts = {
            section.name[len(".text.") :]: number
            for number, section in enumerate(self.sections)
            if section.name.startswith(".text.")
        }
        self.calls = self._calls()
        self.tables = {bank: self._table(bank) for bank in (3, 4)}

    def _named(self, name: str) -> bytes:
        number = self.by_name.get(name)
        return b"" if number is None else self.sections[number].data

    def _symbols(self) -> list[_Symbol]:
        names = self._named(".strtab")
        return [
            _Symbol(_string(names, name), section, info & 15, other, value, size)
            for name, info, other, section, value, size in struct.iter_unpack("<IBBHQQ", self._named(".symtab"))
        ]

    def _calls(self) -> dict[int, list[int]]:
        """Symbol of a function to the symbols of those that it calls, as the compiler noted it."""
        calls: dict[int, list[int]] = {}
        for caller, called in struct.iter_unpack("<II", self._named(".nv.callgraph")):
            if caller and called < len(self.symbols):
                calls.setdefault(caller, []).append(called)
        return calls

    def _relocations(self, section: str) -> list[tuple[int, int, int, int]]:
        """(offset, type, symbol, addend) of a section's relocations."""
        found = [(at, info & 0xFFFFFFFF, info >> 32, add) for at, info, add in _rows(self._named(".rela" + section), 3)]
        found += [(at, info & 0xFFFFFFFF, info >> 32, 0) for at, info in _rows(self._named(".rel" + section), 2)]
        return sorted(found)

    def _table(self, bank: int) -> Mapping[int, tuple[object, ...]]:
        """What stands in a bank that the kernels share: offset to meaning, for each word of four bytes."""
        number = self.by_name.get(f".nv.constant{bank}")
        if number is None:
            return {}
        table: dict[int, tuple[object, ...]] = {}
        if bank == 4:
            for at, kind, symbol, add in self._relocations(".nv.constant4"):
                for half in (0, 4):
                    table[at + half] = ("address", symbol, kind, add, half)
            return table
        for index, symbol_ in enumerate(self.symbols):
            if symbol_.section == number and symbol_.size:
                for at in range(symbol_.value & ~3, symbol_.value + symbol_.size, 4):
                    table[at] = ("constant", index, at - symbol_.value)
        return table

    def entry(self, name: str, kernel: str) -> list[object]:
        """All that belongs to an entry, with names that don't depend on the kernel's own or on its module."""
        plain = _plain(kernel)
        done: dict[str, int] = {}
        queue = [name]
        parts: list[object] = [("architecture", self.flags & 0xFFFF)]

        def meaning(symbol: int) -> object:
            one = self.symbols[symbol]
            if one.kind == _FUNCTION and 0 < one.section < len(self.sections):
                text = self.sections[one.section].name[len(".text.") :]
                if text not in done:
                    done[text] = len(done)
                    queue.append(text)
                return ("function", done[text], one.value)
            return self._datum(one, plain)

        done[name] = 0
        for text in queue:
            parts.append(self._function(text, meaning))
        return parts

    def _datum(self, symbol: _Symbol, plain: Callable[[str], str]) -> object:
        if not 0 < symbol.section < len(self.sections):
            return ("external", symbol.name)
        section = self.sections[symbol.section]
        name = "" if _STRING.match(symbol.name) else plain(symbol.name)
        content = section.data[symbol.value : symbol.value + symbol.size] if section.kind != _NOBITS else b""
        return (section.name, name, symbol.size, content)

    def _function(self, name: str, meaning: Callable[[int], object]) -> list[object]:
        number = self.texts[name]
        text = self.sections[number]
        code, referred = self._instructions(text.data, meaning)
        parts: list[object] = [("text", text.flags, text.info >> 24, hashlib.sha256(code).hexdigest(), *referred)]
        for at, kind, symbol, add in self._relocations(text.name):
            parts.append(("relocation", at, kind, add, meaning(symbol)))
        own = {index for index, symbol in enumerate(self.symbols) if symbol.section == number}
        parts.append(("functions", sorted((s.value, s.size, s.other) for s in map(self._symbol, own) if s.size)))
        called = {symbol for caller in own for symbol in self.calls.get(caller, ()) if symbol not in own}
        parts.append(("calls", sorted(repr(meaning(symbol)) for symbol in called)))
        parts.append(("attributes", *self._attributes(self._named(f".nv.info.{name}"), meaning)))
        parts.append(("resources", *self._resources(own)))
        for section in sorted(self.sections, key=lambda one: one.name):
            if section.name.endswith("." + name) and not section.name.startswith(_APART):
                what = section.name[: -len(name)]
                parts.append((what, section.flags, section.size, hashlib.sha256(section.data).hexdigest()))
                for at, type_, symbol, add in self._relocations(section.name):
                    parts.append((what, at, type_, add, meaning(symbol)))
        return parts

    def _symbol(self, index: int) -> _Symbol:
        return self.symbols[index]

    def _attributes(self, data: bytes, meaning: Callable[[int], object]) -> list[object]:
        """The attributes of one ``.nv.info`` section; numbers of symbols are replaced by what they stand for."""
        found: list[object] = []
        for code, payload in _info(data):
            if code == _INFO_PARAMETERS:
                found.append((code, payload[4:]))
            elif code == _INFO_EXTERNS:
                found.append((code, sorted(repr(meaning(symbol)) for (symbol,) in struct.iter_unpack("<I", payload))))
            else:
                found.append((code, payload))
        return found

    def _resources(self, own: set[int]) -> Sequence[object]:
        """Registers and stack of the functions of one section, which stand in the ``.nv.info`` of the module."""
        found = []
        for code, payload in _info(self._named(".nv.info")):
            if len(payload) == 8:
                symbol, value = struct.unpack("<II", payload)
                if symbol in own:
                    found.append((self.symbols[symbol].value, code, value))
        return sorted(found)

    def _instructions(self, data: bytes, meaning: Callable[[int], object]) -> tuple[bytes, list[object]]:
        """The instructions without offsets into shared banks, and what those offsets stood for, in order."""
        if self._arch() < 70 or len(data) % _INSTRUCTION:
            return data, []  # older architectures encode otherwise
        code = bytearray(data)
        words = [low for low, _ in struct.iter_unpack("<QQ", data)]
        referred: list[object] = []
        replaced: set[int] = set()
        for number, word in enumerate(words):
            operation = word & 0xFFF
            bank = (word >> 54) & 31
            table = self.tables.get(bank)
            if not table or (operation >> 9) not in (3, 5):
                continue
            shift = 37 if operation == _LDCU else 38
            offset = (word >> shift) & 0xFFFF
            register = (word >> 24) & 0xFF
            at, place = number, shift
            if operation == 0xB82 and register != _NO_REGISTER and bank == 4 and offset == 0:
                # The offset is in a register: an immediate value, set a little before.
                before = _sets(words, number, register)
                if before is None:
                    continue
                at, place, offset = before, 32, words[before] >> 32
            found = table.get(offset)
            if found is None:
                continue
            what, symbol, *rest = found
            assert isinstance(symbol, int)
            referred.append((number, at, what, *rest, meaning(symbol)))
            if at not in replaced:
                replaced.add(at)
                cleared = words[at] & ~(0xFFFF << place)
                struct.pack_into("<Q", code, at * _INSTRUCTION, cleared)
        return bytes(code), referred

    def _arch(self) -> int:
        return int(self.flags if self.old_abi else self.flags >> 8) & 0xFF


# Read elsewhere, or no code: what debuggers read, and a copy in the form from which newer GPUs' code is made.
_APART = (".text.", ".rela", ".rel.", ".nv.info.", ".debug", ".nv_debug", ".nv.debug", ".nv.merc.", ".nv.capmerc.")


def _sets(words: Sequence[int], before: int, register: int) -> int | None:
    """The nearest earlier instruction that puts an immediate value into a register."""
    for number in range(before - 1, max(-1, before - 1 - _LOOK_BACK), -1):
        word = words[number]
        if (word >> 16) & 0xFF == register and (word & 0xFFF) in _SETS_REGISTER:
            return number
    return None


def _plain(kernel: str) -> Callable[[str], str]:
    """Names of variables without the kernel's name and the file's."""

    def plain(name: str) -> str:
        match = _PRIVATE.search(name)
        if match:
            name = name[: match.start()] + name[match.end() + int(match[1]) :]
        return name.replace(kernel, "@")

    return plain


def _info(data: bytes) -> list[tuple[int, bytes]]:
    """(attribute, payload) of each attribute: format, attribute, then a value or a length of two bytes."""
    found = []
    place = 0
    while place + 4 <= len(data):
        form, code, value = struct.unpack_from("<BBH", data, place)
        place += 4
        if form == 4:
            found.append((code, data[place : place + value]))
            place += value
        else:
            found.append((code, struct.pack("<H", value)))
    return found


def _rows(data: bytes, width: int) -> list[tuple[int, ...]]:
    return list(struct.iter_unpack("<" + "Q" * width, data))


def _string(data: bytes, place: int) -> str:
    return data[place : data.index(b"\0", place)].decode("utf-8", "replace")
