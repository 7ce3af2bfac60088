import { createHash, generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { entryOf, parseEntry } from '../../src/verifier/entry.ts'
import { leafOf, nodeHash } from '../../src/verifier/hashes.ts'
import { checkpointBody } from '../../src/verifier/note/checkpoint.ts'
import { signerOf, signNote } from '../../src/verifier/note/signatures.ts'
import { parseVkey } from '../../src/verifier/note/vkey.ts'
import { parseProof, proofText, verifyProof } from '../../src/verifier/proof/proof-text.ts'
import { patternRecord, recordOf, vectors } from './vectors.ts'

const { tlogProof, tlogProofWithheldMeta, key } = vectors
const keys = [parseVkey(key.vkey)!]
const vector = vectors.events[tlogProof.index]!

await t.test('the proofs of the published examples are equal byte for byte and verify', (t) => {
  const { data, meta } = recordOf(vector)
  const { hashes, checkpoint } = parseProof(tlogProof.text)!
  const proof = { index: vector.index, entry: vector.entry, data, meta, hashes, checkpoint }
  t.equal(proofText(proof), tlogProof.text)
  t.equal(proofText(proof, ['meta']), tlogProofWithheldMeta.text)
  const entry = { id: vector.id, stream: vector.stream, type: vector.type, time: vector.time }
  t.match(verifyProof(tlogProof.text, keys), { index: 9, data, meta, entry, checkpoint: { size: 11 } })
  t.match(verifyProof(tlogProofWithheldMeta.text, keys), { data, meta: undefined })
  t.match(verifyProof(proofText(proof, ['data', 'meta']), keys), { data: undefined, meta: undefined })
  t.equal(parseProof(proofText(proof, ['data', 'meta', 'data']))!.data, undefined)
  t.end()
})

await t.test('a proof of any part is refused with its cause', (t) => {
  const { text } = tlogProof
  const proof = parseProof(text)!
  const other = signerOf(key.origin, generateKeyPairSync('ed25519').privateKey)
  const elsewhere = signerOf('log.example/1', generateKeyPairSync('ed25519').privateKey)
  t.equal(verifyProof(proofText({ ...proof, data: '{}' }), keys), 'wrong data')
  t.equal(verifyProof(proofText({ ...proof, meta: '{}' }), keys), 'wrong meta')
  t.equal(verifyProof(proofText({ ...proof, index: 8 }), keys), 'not in the tree')
  t.equal(verifyProof(proofText({ ...proof, index: 11 }), keys), 'not in the tree')
  t.equal(verifyProof(proofText({ ...proof, hashes: proof.hashes.slice(1) }), keys), 'not in the tree')
  t.equal(verifyProof(proofText({ ...proof, hashes: proof.hashes.toReversed() }), keys), 'not in the tree')
  const moved = proof.entry.replace('"revision":1', '"revision":2')
  t.equal(verifyProof(proofText({ ...proof, entry: moved }), keys), 'not in the tree')
  t.equal(verifyProof(text, [other.key]), 'unknown key')
  t.equal(verifyProof(text, [elsewhere.key]), 'other origin')
  t.equal(verifyProof(text.replace('\n11\n', '\n12\n'), keys), 'wrong signature')
  t.equal(verifyProof(text.slice(0, -1), keys), 'malformed checkpoint')
  for (const change of [
    (text: string) => text.replace('@v1', '@v2'),
    (text: string) => text.replace(/extra .*\n/, ''),
    (text: string) => text.replace(/extra .*\n/, 'extra e30=\n'),
    (text: string) => text.replace(/extra .*\n/, `extra ${Buffer.from('null').toString('base64')}\n`),
    (text: string) => text.replace('extra ', 'extra  '),
    (text: string) => text.replace('index 9', 'index 09'),
    (text: string) => text.replace('index 9', 'index -9'),
    (text: string) => text.replace('index 9', 'index'),
    (text: string) => text.replace('index 9\n', ''),
    (text: string) => text.replace(/index 9\n.{44}\n/, 'index 9\nAAAA\n'),
    (text: string) => text.replace('\n\n', `\n${`${'A'.repeat(43)}=\n`.repeat(64)}\n`),
    (text: string) => text.replace(/^.*\n\n/s, ''),
    (text: string) => `${text}${' '.repeat(262_144)}`,
    () => '',
  ])
    t.equal(verifyProof(change(text), keys), 'malformed proof', change.toString())
  for (const entry of ['', 'null', '{}', proof.entry.replace('"v":1', '"v":2'), `${proof.entry} `])
    t.equal(verifyProof(proofText({ ...proof, entry }), keys), 'malformed proof', entry)
  t.end()
})

await t.test('a proof leaves out data, then metadata, that exceed 48,000 bytes', (t) => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const signer = signerOf('log.example/1', privateKey)
  const extraBytes = (text: string) => Buffer.from(/extra (.*)\n/.exec(text)![1]!, 'base64').length
  const proofWith = (dataLength: number, metaLength: number) => {
    const record = { ...patternRecord(0), data: 'd'.repeat(dataLength), meta: 'm'.repeat(metaLength) }
    const entry = entryOf(record)
    const sibling = leafOf('other')
    const body = checkpointBody({ origin: signer.key.name, size: 2, root: nodeHash(leafOf(entry), sibling) })
    const { data, meta } = record
    return proofText({ index: 0, entry, data, meta, hashes: [sibling], checkpoint: signNote(body, [signer]) })
  }
  const overhead = extraBytes(proofWith(0, 0))
  for (const [dataLength, metaLength, hasData, hasMeta] of [
    [48_000 - overhead, 0, true, true],
    [48_001 - overhead, 0, false, true],
    [0, 48_000 - overhead, true, true],
    [0, 48_001 - overhead, false, true],
    [40_000, 48_100 - overhead, false, false],
    [40_000, 8_000, false, true],
    [100_000, 100_000, false, false],
  ] as const) {
    const text = proofWith(dataLength, metaLength)
    const verified = verifyProof(text, [signer.key])
    t.ok(extraBytes(text) <= 48_000)
    if (typeof verified === 'string') t.fail(verified)
    else t.strictSame([verified.data !== undefined, verified.meta !== undefined], [hasData, hasMeta])
  }
  t.end()
})

await t.test('every change of one bit of a proof is noticed', (t) => {
  const bytes = Buffer.from(tlogProof.text)
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    if (typeof verifyProof(changed.toString(), keys) !== 'string') t.fail(`bit ${bit}`)
  }
  t.pass(`${8 * bytes.length} bits`)
  t.end()
})

await t.test('an entry has exactly the members and the form of its text', (t) => {
  const entry = entryOf(patternRecord(8))
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const { id, stream, time, type } = patternRecord(8)
  const expected = { data: sha256('{"n":8}'), id, meta: sha256('{"schema":1}'), revision: 1, stream, time, type }
  t.strictSame(parseEntry(entry), expected)
  for (const wrong of [
    entry.replace('"revision":1', '"revision":-1'),
    entry.replace('"revision":1', '"revision":1.5'),
    entry.replace('"revision":1', '"revision":"1"'),
    entry.replace('{"data":"', '{"data":"0'),
    entry.replace('"type":', '"more":1,"type":'),
    `[${entry}]`,
    '"text"',
    '1',
  ])
    t.equal(parseEntry(wrong), undefined, wrong)
  t.end()
})
