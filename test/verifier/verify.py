#!/usr/bin/env python3
"""Independent verifier of exports and proofs of a Rollcall ledger.

Needs the standard library of Python 3.8 or later, and the program `openssl` 3. It shares no code with the service.

    verify.py export MANIFEST --vkey VKEY... [--checkpoint FILE]... [--hashes FILE]
    verify.py proof FILE --vkey VKEY...
    verify.py tamper RETAINED PRESENT
    verify.py batch FILE

`export` checks the files beside the manifest, `proof` a tlog-proof, `tamper` two files with one base64 hash a line.
`batch` reads a JSON array of argument lists. Each check prints one line of JSON with its verdict.

Verdicts of exports:
    ok                                 with the number of events and the size of the checkpoint
    changed removed inserted moved truncated
                                       with the first index at which the log differs from the retained hashes;
                                       `removed` also if an export without filter lacks a record of its range
    differs                            with the sizes between which the difference lies
    log shorter than the checkpoint, no consistency proof
    not selected by the filter, index out of order
    wrong file hash, missing file, malformed manifest, malformed export
Verdicts of checkpoints: wrong signature, unknown key, other origin, malformed checkpoint
Verdicts of proofs: ok, malformed proof, wrong data, wrong meta, not in the tree
Verdicts of lists of hashes: none, changed, removed, inserted, moved, truncated
"""
import argparse
import gzip
import hashlib
import json
import os
import re
import sys
import zlib

from exported import Malformed, read_records
from filters import passes
from notes import Refused, cosignatures, parse_vkey, signers_of, verify_checkpoint
from tree import CoverChecker, b64hash, classify, leaf_hash, verify_consistency, verify_inclusion


def canonical(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(',', ':'))


def sha256_hex(content):
    return hashlib.sha256(content).hexdigest()


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def hash_lines(content):
    """Hashes of a text with one base64 hash a line."""
    return [b64hash(line) for line in content.decode('ascii').splitlines()]


def is_whole(value):
    return type(value) is int and 0 <= value < 2 ** 53


def are_texts(values):
    return all(isinstance(value, str) for value in values)


def is_sha256(value):
    return isinstance(value, str) and re.fullmatch('[0-9a-f]{64}', value) is not None


def is_file_name(value):
    return isinstance(value, str) and re.fullmatch(r'[^/\\\0]+', value) is not None and value not in ('.', '..')


def is_manifest(manifest):
    """True if every member of a manifest that is needed is there and has its type."""
    proof, consistency = manifest['proof'], manifest.get('consistency')
    return (
        manifest['schema'] == 'rollcall.export/v1'
        and manifest['format'] in ('ndjson', 'csv', 'parquet', 'cloudevents', 'ocsf')
        and type(manifest['gzip']) is bool
        and manifest['personal'] in ('sealed', 'open')
        and are_texts([manifest['origin'], manifest['checkpoint']] + manifest['vkeys'])
        and isinstance(manifest['filter'], dict)
        and are_texts(manifest['filter'].values())
        and all(map(is_whole, (manifest['index']['from'], manifest['index']['to'], manifest['events'], proof['count'])))
        and isinstance(manifest['files'], list)
        and all(is_file_name(file['name']) and is_whole(file['bytes']) and is_sha256(file['sha256'])
                and is_whole(file['events']) and is_whole(file.get('firstIndex', 0)) and is_whole(file.get('lastIndex', 0))
                for file in manifest['files'])
        and (is_file_name(proof['file']) and is_sha256(proof['sha256']) if 'file' in proof
             else isinstance(proof['hashes'], list) and are_texts(proof['hashes']))
        and ('consistency' not in manifest or (is_whole(consistency['from']['size'])
             and are_texts([consistency['from']['root']] + consistency['hashes'])))
    )


def load_manifest(path):
    content = read(path).decode('utf-8')
    manifest = json.loads(content)
    if content != canonical(manifest) + '\n' or not is_manifest(manifest):
        raise Refused('malformed manifest')
    return manifest


def load_files(manifest, folder):
    """Contents of the data files, as the manifest describes them."""
    for file in manifest['files']:
        content = read(os.path.join(folder, os.path.basename(file['name'])))
        if len(content) != file['bytes'] or sha256_hex(content) != file['sha256']:
            raise Refused('wrong file hash', file=file['name'])
        try:
            yield file, gzip.decompress(content) if manifest['gzip'] else content
        except (OSError, EOFError, zlib.error):
            raise Malformed(0)


def load_cover(manifest, folder):
    proof = manifest['proof']
    if 'file' in proof:
        content = read(os.path.join(folder, os.path.basename(proof['file'])))
        if sha256_hex(content) != proof['sha256']:
            raise Refused('wrong file hash', file=proof['file'])
        hashes = hash_lines(content)
    else:
        hashes = [b64hash(text) for text in proof['hashes']]
    if len(hashes) != proof['count']:
        raise Refused('malformed manifest')
    return hashes


def load_records(manifest, folder):
    """Records of all files in ascending order of their index, checked against the numbers of the manifest."""
    records = []
    for file, content in load_files(manifest, folder):
        part = list(read_records(content, manifest))
        if len(part) != file['events']:
            raise Refused('malformed manifest', file=file['name'])
        if part and (part[0].index, part[-1].index) != (file['firstIndex'], file['lastIndex']):
            raise Refused('malformed manifest', file=file['name'])
        records += part
    if len(records) != manifest['events']:
        raise Refused('malformed manifest')
    return records


def check_range(manifest, records):
    start, end = manifest['index']['from'], manifest['index']['to']
    expected = start
    for record in records:
        if record.index < expected or record.index >= end:
            raise Refused('index out of order', index=record.index)
        if not manifest['filter'] and record.index != expected:
            raise Refused('removed', index=expected)
        if not passes(record, manifest['filter']):
            raise Refused('not selected by the filter', index=record.index)
        expected = record.index + 1
    if not manifest['filter'] and expected != end:
        raise Refused('removed', index=expected)


def check_retained_hashes(retained, indexes, leaves, manifest):
    """First exported record that differs from the retained hashes."""
    at = dict(zip(indexes, leaves))
    if not manifest['filter'] and manifest['index']['from'] == 0:
        found = classify(retained, leaves)
        # An export whose range ends before the retained hashes do shows no removal.
        if found is not None and (found[0] != 'truncated' or len(leaves) < manifest['index']['to']):
            raise Refused(found[0], index=found[1])
        return
    known, present = set(retained), set(leaves)
    for index, leaf in at.items():
        if index < len(retained) and retained[index] != leaf:
            gone = retained[index] not in present
            kind = ('removed' if gone else 'moved') if leaf in known else ('changed' if gone else 'inserted')
            raise Refused(kind, index=index)


def trusted_keys(given, offered, checkpoints):
    """The given keys, and each offered one of a ledger that signed a checkpoint together with a trusted one of it."""
    trusted, others = list(given), [key for key in offered if key not in given]
    growing = True
    while growing:
        growing = False
        for text in checkpoints:
            signers = signers_of(text, [key for key in trusted + others if key.type == 1 and key.name == text.partition('\n')[0]])
            if signers.intersection(trusted) and signers.difference(trusted):
                trusted += signers.difference(trusted)
                others = [key for key in others if key not in trusted]
                growing = True
    return trusted


def verify_export(options):
    folder = os.path.dirname(os.path.abspath(options.path))
    manifest = load_manifest(options.path)
    offered = [parse_vkey(text) for text in manifest['vkeys']]
    texts = [read(path).decode('utf-8') for path in options.checkpoint]
    keys = trusted_keys([parse_vkey(text) for text in options.vkey], offered, texts + [manifest['checkpoint']])
    checkpoint = verify_checkpoint(manifest['checkpoint'], keys)
    if manifest['origin'] != checkpoint.origin:
        raise Refused('other origin')
    retained = [verify_checkpoint(text, keys) for text in texts]
    retained.sort(key=lambda old: old.size)
    if retained and retained[-1].origin != checkpoint.origin:
        raise Refused('other origin')
    if retained and retained[-1].size > checkpoint.size:
        raise Refused('log shorter than the checkpoint', size=retained[-1].size)
    records = load_records(manifest, folder)
    hashes = load_cover(manifest, folder)
    leaves = [leaf_hash(record.entry()) for record in records]
    indexes = [record.index for record in records]
    if options.hashes is not None:
        check_retained_hashes(hash_lines(read(options.hashes)), indexes, leaves, manifest)
    check_range(manifest, records)
    checker = CoverChecker(checkpoint.size, iter(hashes), [old.size for old in retained])
    fits = all(checker.add(index, leaf) for index, leaf in zip(indexes, leaves))
    root = checker.root() if fits else None
    roots = {**checker.roots, checkpoint.size: root}
    good = 0
    for old in retained:
        if roots.get(old.size) not in (None, old.root):
            raise Refused('differs', between=[good, old.size])
        if roots.get(old.size) == old.root:
            good = old.size
    if root != checkpoint.root:
        raise Refused('differs', between=[good, checkpoint.size])
    proof = manifest.get('consistency')
    for old in retained:
        if old.size in roots:
            continue
        if proof is None or proof['from']['size'] != old.size:
            raise Refused('no consistency proof', size=old.size)
        proven = [b64hash(text) for text in proof['hashes']]
        if not verify_consistency(old.size, old.root, checkpoint.size, checkpoint.root, proven):
            raise Refused('differs', between=[good, old.size])
    cosigned = cosignatures(manifest['checkpoint'], keys)
    return {'verdict': 'ok', 'events': len(records), 'size': checkpoint.size, **({'cosigned': cosigned} if cosigned else {})}


def verify_proof(options):
    import base64
    keys = [parse_vkey(text) for text in options.vkey]
    text = read(options.path).decode('utf-8')
    head, separator, note = text.partition('\n\n')
    lines = head.split('\n')
    try:
        if not separator or lines[0] != 'c2sp.org/tlog-proof@v1' or not lines[1].startswith('extra '):
            raise ValueError
        extra = base64.b64decode(lines[1][6:], validate=True)
        if base64.b64encode(extra).decode() != lines[1][6:]:
            raise ValueError
        shown = json.loads(extra)
        if canonical(shown).encode() != extra or not {'entry'} <= set(shown) <= {'data', 'entry', 'meta'}:
            raise ValueError
        number = lines[2][6:]
        if not lines[2].startswith('index ') or str(int(number)) != number or int(number) < 0:
            raise ValueError
        index = int(number)
        path = [b64hash(line) for line in lines[3:]]
        entry = json.loads(shown['entry'])
        if canonical(entry) != shown['entry'] or entry['v'] != 1 or sorted(entry) != sorted(
                ['data', 'id', 'meta', 'revision', 'stream', 'time', 'type', 'v']):
            raise ValueError
    except (ValueError, IndexError, KeyError, TypeError, AttributeError):
        raise Refused('malformed proof')
    for name in ('data', 'meta'):
        if name in shown and sha256_hex(shown[name].encode('utf-8')) != entry[name]:
            raise Refused('wrong ' + name)
    checkpoint = verify_checkpoint(note, keys)
    if not verify_inclusion(leaf_hash(shown['entry']), index, checkpoint.size, path, checkpoint.root):
        raise Refused('not in the tree')
    return {'verdict': 'ok', 'index': index, 'size': checkpoint.size}


def verify_tamper(options):
    found = classify(hash_lines(read(options.path)), hash_lines(read(options.present)))
    return {'verdict': 'none'} if found is None else {'verdict': found[0], 'index': found[1]}


def parser():
    top = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = top.add_subparsers(dest='verb', required=True)
    for verb, run in (('export', verify_export), ('proof', verify_proof), ('tamper', verify_tamper)):
        sub = verbs.add_parser(verb)
        sub.set_defaults(run=run)
        sub.add_argument('path')
        if verb == 'tamper':
            sub.add_argument('present')
            continue
        sub.add_argument('--vkey', action='append', default=[], required=True)
        if verb == 'export':
            sub.add_argument('--checkpoint', action='append', default=[])
            sub.add_argument('--hashes')
    verbs.add_parser('batch').add_argument('path')
    return top


def verdict(arguments):
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except Refused as refused:
        return {'verdict': refused.verdict, **refused.details}
    except Malformed as malformed:
        return {'verdict': 'malformed export', 'line': malformed.line}
    except FileNotFoundError as missing:
        return {'verdict': 'missing file', 'file': os.path.basename(missing.filename)}
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError) as error:
        # The manifest is not JSON, lacks a member, or a file cannot be decoded.
        return {'verdict': 'malformed manifest', 'cause': str(error)}


def main():
    if sys.argv[1:2] == ['batch']:
        for arguments in json.loads(read(sys.argv[2])):
            print(json.dumps(verdict(arguments), sort_keys=True), flush=True)
        return 0
    result = verdict(sys.argv[1:])
    print(json.dumps(result, sort_keys=True))
    return 0 if result['verdict'] in ('ok', 'none') else 4 if result['verdict'] == 'missing file' else 3


if __name__ == '__main__':
    sys.exit(main())
