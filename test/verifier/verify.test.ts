import { spawnSync } from 'node:child_process'
import { createHash, createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { canonical } from '../../src/base/canonical.ts'
import { csvOf } from '../../src/base/csv.ts'
import { COLUMNS } from '../../src/verifier/export/csv.ts'
import { fieldsOf } from '../../src/verifier/export/event-fields.ts'
import { eventLine } from '../../src/verifier/export/ndjson.ts'
import type { Hash } from '../../src/verifier/hashes.ts'
import { checkpointBody } from '../../src/verifier/note/checkpoint.ts'
import { signerOf, signNote } from '../../src/verifier/note/signatures.ts'
import { parseVkey, vkeyOf } from '../../src/verifier/note/vkey.ts'
import { coverHashes, selection } from '../../src/verifier/proof/cover.ts'
import { parseProof, proofText, verifyProof } from '../../src/verifier/proof/proof-text.ts'
import { consistencyProof, type ReadNodes, rootAt } from '../../src/verifier/proof/proofs.ts'
import { compactRange } from '../../src/verifier/tree.ts'
import { base64, recordOf, vectors } from '../ledger/vectors.ts'
import { skip } from './python.ts'

const script = resolve(import.meta.dirname, '../../../test/verifier/verify.py')

const { key, checkpoint, tlogProof, tlogProofWithheldMeta, cosigned } = vectors
const nodes = new Map<string, Hash>()
const range = compactRange(undefined, (level, index, hash) => nodes.set(`${level} ${index}`, hash))
for (const { leafHash } of vectors.events) range.append(Buffer.from(leafHash, 'base64'))
const read: ReadNodes = async (wanted) => wanted.map(({ level, index }) => nodes.get(`${level} ${index}`)!)

const PKCS8 = '302e020100300506032b657004220420'
const privateKey = createPrivateKey({ key: Buffer.from(PKCS8 + key.seedHex, 'hex'), format: 'der', type: 'pkcs8' })
const signer = signerOf(key.origin, privateKey)
const stranger = signerOf(key.origin, generateKeyPairSync('ed25519').privateKey)
const checkpointAt = async (size: number, root?: Hash, signers = [signer]) =>
  signNote(checkpointBody({ origin: key.origin, size, root: root ?? (await rootAt(size, read)) }), signers)

const events = vectors.events.map((vector) => {
  const record = { ...recordOf(vector), position: BigInt(vector.index + 1) }
  return { index: vector.index, record, fields: fieldsOf(record) }
})
type Manifest = Readonly<Record<string, unknown>>
type Export = {
  readonly format?: string
  readonly gzip?: boolean
  readonly indexes: readonly number[]
  readonly from?: number
  readonly to?: number
  readonly filter?: Readonly<Record<string, string>>
  readonly content?: string | Uint8Array
  readonly manifest?: Manifest
  readonly hashes?: readonly string[]
}

await t.test('the verifier gives the verdict of each case', { skip }, async (t) => {
  const folder = t.testdir({})
  const cases: { readonly name: string; readonly arguments: readonly string[]; readonly verdict: object }[] = []
  const file = (content: string | Uint8Array, ending = 'txt') => {
    const path = join(
      folder,
      `${cases.length}-${createHash('sha256').update(content).digest('hex').slice(0, 8)}.${ending}`,
    )
    writeFileSync(path, content)
    return path
  }
  const keyed = ['--vkey', key.vkey]
  /** Writes an export with its manifest and returns the path of the manifest. */
  const exported = async (given: Export) => {
    const {
      format = 'ndjson',
      gzip = false,
      indexes,
      filter = {},
      from = indexes[0]!,
      to = indexes.at(-1)! + 1,
    } = given
    const some = indexes.map((index) => events[index]!)
    const content =
      given.content ?? (format === 'csv' ? csvOf(some, COLUMNS) : some.map((event) => eventLine(event)).join(''))
    const bytes = gzip ? gzipSync(content) : typeof content === 'string' ? Buffer.from(content) : content
    const path = file(bytes, 'data')
    const chosen = selection()
    for (const index of indexes) chosen.add(index)
    const cover: string[] = []
    for await (const batch of coverHashes(range.size, chosen.runs(), read)) cover.push(...batch.map(base64))
    const hashes = given.hashes ?? cover
    const manifest = {
      schema: 'rollcall.export/v1',
      format,
      gzip,
      personal: 'sealed',
      origin: key.origin,
      vkeys: [key.vkey],
      checkpoint,
      filter,
      index: { from, to },
      events: indexes.length,
      files: [
        {
          name: path.slice(folder.length + 1),
          bytes: bytes.length,
          sha256: createHash('sha256').update(bytes).digest('hex'),
          events: indexes.length,
          firstIndex: indexes[0],
          lastIndex: indexes.at(-1),
        },
      ],
      proof: { count: hashes.length, hashes },
      ...given.manifest,
    }
    return file(`${canonical(manifest)}\n`, 'json')
  }
  const expectExport = async (name: string, given: Export, verdict: object, ...options: readonly string[]) => {
    cases.push({ name, arguments: ['export', await exported(given), ...keyed, ...options], verdict })
  }
  const retain = async (size: number, root?: Hash) => ['--checkpoint', file(await checkpointAt(size, root))]

  const published = (JSON.parse(vectors.export.manifest) as { readonly files: readonly { readonly name: string }[] })
    .files
  const lines = [2, 3, 4, 5, 6].map((index) => eventLine(events[index]!)).join('')
  writeFileSync(join(folder, published[0]!.name), lines)
  const publishedManifest = file(vectors.export.manifest, 'json')
  const verified = { verdict: 'ok', events: 5, size: 11 }
  cases.push({ name: 'published export', arguments: ['export', publishedManifest, ...keyed], verdict: verified })

  const all = events.map(({ index }) => index)
  const some = [2, 3, 4, 5, 6]
  const text = events.map((event) => eventLine(event)).join('')
  await expectExport('whole log', { indexes: all }, { verdict: 'ok', events: 11, size: 11 })
  await expectExport('gzip', { indexes: all, gzip: true }, { verdict: 'ok', events: 11, size: 11 })
  await expectExport('CSV', { indexes: all, format: 'csv' }, { verdict: 'ok', events: 11, size: 11 })
  const clouds = (JSON.parse(JSON.stringify(vectors)) as { cloudEvents: { index: number; text: string }[] }).cloudEvents
  const cloudText = clouds.map(({ text }) => `${text}\n`).join('')
  const cloudExport = {
    format: 'cloudevents',
    indexes: clouds.map(({ index }) => index),
    content: cloudText,
    filter: { type: 'FlagCreated,Token*' },
  }
  await expectExport('CloudEvents', cloudExport, { verdict: 'ok', events: 2, size: 11 })
  await expectExport(
    'changed attribute of a CloudEvent',
    { ...cloudExport, content: cloudText.replace('"actorkind":"token"', '"actorkind":"system"') },
    { verdict: 'malformed export', line: 1 },
  )
  await expectExport(
    'filter',
    {
      indexes: [1, 6, 8].filter((n) => events[n]!.fields.type === 'TokenIssued'),
      from: 0,
      to: 11,
      filter: { type: 'TokenI*', outcome: '!denied' },
    },
    { verdict: 'ok', size: 11 },
  )
  await expectExport(
    'another filter',
    { indexes: [1, 2], filter: { type: 'Token*' } },
    { verdict: 'not selected by the filter', index: 2 },
  )
  await expectExport(
    'unknown key',
    {
      indexes: some,
      manifest: { checkpoint: checkpoint.replace(/— .*\n/, '') + signNote('', [stranger]).trimStart() },
    },
    { verdict: 'unknown key' },
  )
  await expectExport(
    'other origin',
    { indexes: some, manifest: { origin: 'log.example/1' } },
    { verdict: 'other origin' },
  )
  await expectExport(
    'wrong signature',
    { indexes: some, manifest: { checkpoint: checkpoint.replace('\n11\n', '\n12\n') } },
    { verdict: 'wrong signature' },
  )
  await expectExport(
    'malformed checkpoint',
    { indexes: some, manifest: { checkpoint: checkpoint.trimEnd() } },
    { verdict: 'malformed checkpoint' },
  )
  await expectExport(
    'wrong file hash',
    {
      indexes: some,
      manifest: {
        files: [
          {
            name: published[0]!.name,
            bytes: lines.length,
            sha256: '0'.repeat(64),
            events: 5,
            firstIndex: 2,
            lastIndex: 6,
          },
        ],
      },
    },
    { verdict: 'wrong file hash' },
  )
  await expectExport(
    'missing file',
    {
      indexes: some,
      manifest: { files: [{ name: 'none', bytes: 1, sha256: '0'.repeat(64), events: 5, firstIndex: 2, lastIndex: 6 }] },
    },
    { verdict: 'missing file', file: 'none' },
  )
  await expectExport('missing record', { indexes: [2, 3, 5, 6] }, { verdict: 'removed', index: 4 })
  await expectExport('missing end', { indexes: some, to: 8 }, { verdict: 'removed', index: 7 })
  await expectExport('wrong count', { indexes: some, manifest: { events: 4 } }, { verdict: 'malformed manifest' })
  const changed = text.replace('"name":"Default"', '"name":"Changed"')
  await expectExport('changed data', { indexes: all, content: changed }, { verdict: 'differs', between: [0, 11] })
  await expectExport(
    'space in a line',
    { indexes: all, content: text.replace('"index":0', '"index": 0') },
    { verdict: 'malformed export', line: 1 },
  )
  const csv = csvOf(events, COLUMNS)
  await expectExport(
    'changed column of CSV',
    { indexes: all, format: 'csv', content: csv.replace('CreateNamespace,system', 'CreateNamespace,token') },
    { verdict: 'malformed export', line: 2 },
  )
  for (const [name, content, line] of [
    ['a number that is text', csv.replace('\r\n0,1,', '\r\nx,1,'), 2],
    ['an open quote', csv.slice(0, -3), events.length + 1],
    ['a cut row', csv.slice(0, -2), events.length + 1],
    ['no header', csv.slice(1), 1],
  ] as const)
    await expectExport(
      `CSV with ${name}`,
      { indexes: all, format: 'csv', content },
      { verdict: 'malformed export', line },
    )
  await expectExport('no gzip', { indexes: all, manifest: { gzip: true } }, { verdict: 'malformed export', line: 0 })
  await expectExport(
    'no UTF-8',
    { indexes: all, content: Uint8Array.of(0xff, 0x0a) },
    { verdict: 'malformed export', line: 0 },
  )
  await expectExport(
    'list of a cover too long',
    { indexes: all, hashes: [vectors.roots[0]!.root] },
    { verdict: 'differs' },
  )
  await expectExport('list of a cover too short', { indexes: some, hashes: [] }, { verdict: 'differs' })

  const wrongRoot = Buffer.alloc(32, 7)
  await expectExport(
    'retained checkpoint inside the export',
    { indexes: all },
    { verdict: 'ok' },
    ...(await retain(5)),
    ...(await retain(11)),
  )
  await expectExport(
    'other history',
    { indexes: all },
    { verdict: 'differs', between: [3, 5] },
    ...(await retain(3)),
    ...(await retain(5, wrongRoot)),
  )
  await expectExport(
    'changed after a checkpoint',
    { indexes: all, content: text.replace('"login":"ZGlnZXN0"', '"login":"ZGlnZXN1"') },
    { verdict: 'differs', between: [3, 11] },
    ...(await retain(3)),
  )
  await expectExport(
    'log shorter than the checkpoint',
    { indexes: all },
    { verdict: 'log shorter than the checkpoint', size: 12 },
    ...(await retain(12, wrongRoot)),
  )
  const consistency = async (size: number) => ({
    from: { size, root: base64(await rootAt(size, read)) },
    hashes: (await consistencyProof(size, 11, read)).map(base64),
  })
  await expectExport(
    'no consistency proof',
    { indexes: [8, 9] },
    { verdict: 'no consistency proof', size: 7 },
    ...(await retain(7)),
  )
  const proven = { indexes: [8, 9], manifest: { consistency: await consistency(7) } }
  for (let size = 1; size <= range.size; size++) {
    const given = { indexes: [8, 9], manifest: { consistency: await consistency(size) } }
    await expectExport(`consistency from ${size}`, given, { verdict: 'ok' }, ...(await retain(size)))
  }
  await expectExport('inconsistency', proven, { verdict: 'differs', between: [0, 7] }, ...(await retain(7, wrongRoot)))

  const newKey = { vkeys: [vkeyOf(stranger.key)], checkpoint: await checkpointAt(11, undefined, [stranger]) }
  const signedBy = async (...signers: (typeof signer)[]) => [
    '--checkpoint',
    file(await checkpointAt(5, undefined, signers)),
  ]
  for (const [name, options, verdict] of [
    ['changed key', await signedBy(signer, stranger), 'ok'],
    ['changed key without a checkpoint of both', await signedBy(signer), 'unknown key'],
    ['changed key of a checkpoint of the new one', await signedBy(stranger), 'unknown key'],
  ] as const)
    await expectExport(name, { indexes: all, manifest: newKey }, { verdict }, ...options)

  const leaves = vectors.events.map(({ leafHash }) => leafHash)
  const hashList = (list: readonly string[]) => ['--hashes', file(list.map((hash) => `${hash}\n`).join(''))]
  await expectExport('retained hashes', { indexes: all }, { verdict: 'ok' }, ...hashList(leaves.slice(0, 7)))
  await expectExport(
    'changed since',
    { indexes: all },
    { verdict: 'changed', index: 4 },
    ...hashList(leaves.with(4, vectors.roots[0]!.root)),
  )
  await expectExport(
    'inserted since',
    { indexes: all },
    { verdict: 'inserted', index: 4 },
    ...hashList(leaves.toSpliced(4, 1)),
  )
  await expectExport(
    'moved since',
    { indexes: some },
    { verdict: 'moved', index: 3 },
    ...hashList(leaves.with(3, leaves[4]!).with(4, leaves[3]!)),
  )
  for (const { kept, have, what, index } of vectors.tamper) {
    const list = (letters: string) =>
      file([...letters].map((letter) => `${createHash('sha256').update(letter).digest('base64')}\n`).join(''))
    const verdict = index === undefined ? { verdict: what } : { verdict: what, index }
    cases.push({ name: `${kept} ${have}`, arguments: ['tamper', list(kept), list(have)], verdict })
  }

  const proof = parseProof(tlogProof.text)!
  const vkeys = [key.vkey, cosigned.witnessVkey]
  for (const [name, proofOf] of Object.entries({
    published: tlogProof.text,
    'withheld metadata': tlogProofWithheldMeta.text,
    cosigned: proofText({ ...proof, checkpoint: cosigned.text }),
    'other time of a witness': proofText({ ...proof, checkpoint: cosigned.text.replace('AAAABq/YbH', 'AAAABq/YbG') }),
    'other data': proofText({ ...proof, data: '{}' }),
    'other metadata': proofText({ ...proof, meta: '{}' }),
    'other index': proofText({ ...proof, index: 8 }),
    'shorter path': proofText({ ...proof, hashes: proof.hashes.slice(1) }),
    'other entry': proofText({ ...proof, entry: proof.entry.replace('"revision":1', '"revision":2') }),
    'no entry': proofText({ ...proof, entry: '{}' }),
    'leading zero': tlogProof.text.replace('index 9', 'index 09'),
    'other size': tlogProof.text.replace('\n11\n', '\n12\n'),
    'without line break': tlogProof.text.slice(0, -1),
  })) {
    const ours = verifyProof(
      proofOf,
      vkeys.map((vkey) => parseVkey(vkey)!),
    )
    const verdict = typeof ours === 'string' ? { verdict: ours } : { verdict: 'ok', index: ours.index, size: 11 }
    cases.push({ name, arguments: ['proof', file(proofOf), ...vkeys.flatMap((vkey) => ['--vkey', vkey])], verdict })
  }
  cases.push({
    name: 'proof with an unknown key',
    arguments: ['proof', file(tlogProof.text), '--vkey', vkeyOf(stranger.key)],
    verdict: { verdict: 'unknown key' },
  })

  const batch = file(JSON.stringify(cases.map(({ arguments: list }) => list)), 'json')
  const { stdout, stderr } = spawnSync('python3', ['-B', script, 'batch', batch], { encoding: 'utf8' })
  const verdicts = stdout.split('\n').slice(0, -1)
  t.equal(verdicts.length, cases.length, stderr)
  for (const [n, { name, verdict }] of cases.entries()) t.match(JSON.parse(verdicts[n] ?? '{}'), verdict, name)
})
