"""Signed notes and checkpoints of C2SP. Signatures are verified by the program `openssl`."""
import base64
import collections
import hashlib
import os
import re
import subprocess
import tempfile
import unicodedata

from tree import b64hash

Key = collections.namedtuple('Key', 'name id type public')
Checkpoint = collections.namedtuple('Checkpoint', 'origin size root')

# SubjectPublicKeyInfo of an Ed25519 key, up to its 32 bytes.
SPKI = bytes.fromhex('302a300506032b6570032100')


class Refused(Exception):
    def __init__(self, verdict, **details):
        super().__init__(verdict)
        self.verdict, self.details = verdict, details


def strict_base64(text):
    value = base64.b64decode(text, validate=True)
    if base64.b64encode(value).decode() != text:
        raise ValueError('not canonical base64')
    return value


def is_name(text):
    return text != '' and len(text.encode()) <= 255 and not any(
        char == '+' or char.isspace() or unicodedata.category(char) == 'Cc' for char in text)


def parse_vkey(text):
    name, key_id, encoded = text.split('+', 2)
    material = strict_base64(encoded)
    expected = hashlib.sha256(name.encode() + b'\n' + material).digest()[:4].hex()
    if not is_name(name) or len(material) != 33 or material[0] not in (1, 4) or expected != key_id:
        raise Refused('malformed vkey')
    return Key(name, key_id, material[0], material[1:])


verified = {}


def ed25519(public, message, signature):
    asked = (public, message, signature)
    if asked not in verified:
        with tempfile.TemporaryDirectory() as folder:
            paths = {}
            for name, content in (('key', SPKI + public), ('message', message), ('signature', signature)):
                paths[name] = os.path.join(folder, name)
                with open(paths[name], 'wb') as file:
                    file.write(content)
            command = ['openssl', 'pkeyutl', '-verify', '-pubin', '-keyform', 'DER', '-inkey', paths['key'],
                       '-rawin', '-in', paths['message'], '-sigfile', paths['signature']]
            verified[asked] = subprocess.run(command, capture_output=True).returncode == 0
    return verified[asked]


def is_signed(key, body, signature):
    if key.type == 1:
        return len(signature) == 64 and ed25519(key.public, body.encode(), signature)
    if len(signature) != 72:
        return False
    time = int.from_bytes(signature[:8], 'big')
    message = 'cosignature/v1\ntime %d\n%s' % (time, body)
    return time < 2 ** 53 and ed25519(key.public, message.encode(), signature[8:])


def parse_note(text):
    """Body and signatures of a note: (name, id, signature)."""
    if len(text.encode('utf-8')) > 131072 or any(
            char != '\n' and unicodedata.category(char) == 'Cc' for char in text):
        raise ValueError('control character')
    end = text.rindex('\n\n') + 1
    lines = text[end + 1:]
    if not lines.endswith('\n'):
        raise ValueError('no line break at the end')
    signatures = []
    for line in lines[:-1].split('\n'):
        dash, name, encoded = line.split(' ')
        value = strict_base64(encoded)
        if dash != '\u2014' or not is_name(name) or len(value) <= 4:
            raise ValueError('malformed signature')
        signatures.append((name, value[:4].hex(), value[4:]))
    if len(signatures) > 100:
        raise ValueError('too many signatures')
    return text[:end], signatures


def parse_checkpoint(text):
    body, signatures = parse_note(text)
    origin, size, root, rest = body.split('\n')
    if not is_name(origin) or not re.fullmatch(r'0|[1-9][0-9]{0,15}', size) or int(size) >= 2 ** 53 or rest:
        raise ValueError('malformed body')
    return body, signatures, Checkpoint(origin, int(size), b64hash(root))


def verified_signers(body, signatures, keys):
    signers = set()
    for name, key_id, signature in signatures:
        for key in keys:
            if (key.name, key.id) == (name, key_id) and key not in signers:
                if not is_signed(key, body, signature):
                    raise Refused('wrong signature')
                signers.add(key)
    return signers


def signers_of(text, keys):
    """The keys that signed a checkpoint; none if it is malformed or has a wrong signature."""
    try:
        body, signatures, _ = parse_checkpoint(text)
        return verified_signers(body, signatures, keys)
    except (ValueError, Refused):
        return set()


def verify_checkpoint(text, keys):
    try:
        body, signatures, checkpoint = parse_checkpoint(text)
    except ValueError:
        raise Refused('malformed checkpoint')
    own = [key for key in keys if key.type == 1 and key.name == checkpoint.origin]
    if not own:
        raise Refused('other origin')
    signers = verified_signers(body, signatures, keys)
    if not signers.intersection(own):
        raise Refused('unknown key')
    return checkpoint


def cosignatures(text, keys):
    """Name of the witness, size and time in seconds of each signature of a given witness, on a verified checkpoint."""
    _, signatures, checkpoint = parse_checkpoint(text)
    witnesses = {(key.name, key.id) for key in keys if key.type == 4}
    return [[name, checkpoint.size, int.from_bytes(signature[:8], 'big')]
            for name, key_id, signature in signatures if (name, key_id) in witnesses]
