"""Merkle tree of RFC 6962, and the walk of the cover of an export."""
import base64
import hashlib


def sha256(content):
    return hashlib.sha256(content).digest()


def b64hash(text):
    """Hash of a canonical base64 text of 32 bytes."""
    value = base64.b64decode(text, validate=True)
    if len(value) != 32 or base64.b64encode(value).decode() != text:
        raise ValueError('not a hash: ' + text[:60])
    return value


def leaf_hash(entry):
    return sha256(b'\x00' + entry.encode('utf-8'))


def node_hash(left, right):
    return sha256(b'\x01' + left + right)


def half(size):
    """Largest power of two below the size."""
    return 1 << ((size - 1).bit_length() - 1)


def verify_inclusion(leaf, index, size, path, root):
    """Algorithm of RFC 9162 §2.1.3.2."""
    if index >= size:
        return False
    fn, sn, result = index, size - 1, leaf
    for sibling in path:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            result = node_hash(sibling, result)
            while not fn & 1 and fn != 0:
                fn, sn = fn >> 1, sn >> 1
        else:
            result = node_hash(result, sibling)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and result == root


def verify_consistency(first, first_root, second, second_root, path):
    """Algorithm of RFC 9162 §2.1.4.2."""
    if first == second:
        return not path and first_root == second_root
    if first == 0:
        return not path and first_root == sha256(b'')
    if first > second or not path:
        return False
    path = list(path)
    if first & (first - 1) == 0:
        path.insert(0, first_root)
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    old = new = path[0]
    for sibling in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not fn & 1 and fn != 0:
                fn, sn = fn >> 1, sn >> 1
        else:
            new = node_hash(new, sibling)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and old == first_root and new == second_root


class CoverChecker:
    """Walks the tree from its root: a node without an exported leaf takes the next hash of the list."""

    def __init__(self, size, hashes, watched):
        self.size, self.hashes, self.watched = size, hashes, set(watched)
        self.leaves, self.roots = {}, {}

    def add(self, index, leaf):
        if index in self.leaves or not 0 <= index < self.size:
            return False
        self.leaves[index] = leaf
        return True

    def root(self):
        if self.size == 0:
            return sha256(b'') if next(self.hashes, None) is None else None
        self.order = sorted(self.leaves)
        # Complete subtrees left of the current leaf, as the walk finishes them: (first leaf, number, hash).
        self.finished = []
        try:
            root = self._node(0, self.size, 0, len(self.order))
        except StopIteration:
            return None
        return root if next(self.hashes, None) is None else None

    def _note(self, low, high, value):
        """Keeps the root of a watched size as soon as its leaves are complete."""
        while self.finished and self.finished[-1][0] >= low:
            self.finished.pop()
        self.finished.append((low, high, value))
        if high in self.watched and high != self.size:
            result = self.finished[-1][2]
            for _, _, left in reversed(self.finished[:-1]):
                result = node_hash(left, result)
            self.roots.setdefault(high, result)

    def _node(self, low, high, first, last):
        """Hash of the leaves low to high; order[first:last] are the exported ones."""
        if first == last:
            value = next(self.hashes)
        elif high - low == 1:
            value = self.leaves[low]
        else:
            middle = low + half(high - low)
            cut = first
            # Binary search of the first exported index in the right half.
            end = last
            while cut < end:
                probe = (cut + end) // 2
                if self.order[probe] < middle:
                    cut = probe + 1
                else:
                    end = probe
            left = self._node(low, middle, first, cut)
            value = node_hash(left, self._node(middle, high, cut, last))
        self._note(low, high, value)
        return value


def classify(retained, present):
    """First difference of two lists of hashes: (kind, index), or None."""
    for index, kept in enumerate(retained):
        if index >= len(present):
            return 'truncated', index
        if present[index] != kept:
            known, gone = present[index] in set(retained), kept not in set(present)
            if known:
                return ('removed' if gone else 'moved'), index
            return ('changed' if gone else 'inserted'), index
    return None
