import { spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { canonical } from '../../src/base/canonical.ts'
import type { Stored } from '../../src/events/log.ts'
import type { ExportFormat, Manifest } from '../../src/verifier/export/manifest.ts'
import { vkeyOf } from '../../src/verifier/note/vkey.ts'
import { type Random, randomOf } from '../history/event-log.ts'
import type { EventVector } from '../ledger/vectors.ts'
import { recordOf, vectors } from '../ledger/vectors.ts'
import { cosign, vkeyOfWitness } from '../stand-ins/witness.ts'
import { SIGNER, signerWith, VKEY } from './ledger-server.ts'
import { ledgerOf, madeExport } from './made-export.ts'
import { rollcall } from './service.ts'

const verify = async (...args: readonly string[]) => rollcall(['events', 'verify', ...args])
const published = vectors.events.map(
  (vector: EventVector): Stored => ({
    ...recordOf(vector),
    position: BigInt(vector.index + 1),
  }),
)

type Found = { readonly kind: string; readonly index?: number; readonly between?: readonly [number, number] }
type Report = { readonly verified: boolean; readonly findings: readonly Found[]; readonly size: number }
const report = async (...args: readonly string[]): Promise<Report & { exit: number | null }> => {
  const { exit, out, err } = await verify(...args, '-o', 'json')
  // A manifest that cannot be read, or names a file that does not exist, has no report.
  if (out === '' && (exit === 3 || exit === 4)) return { verified: false, findings: [], size: 0, exit }
  if (out === '') throw new Error(`${exit}: ${err}`)
  return { ...(JSON.parse(out) as Report), exit }
}

const python = resolve(import.meta.dirname, '../../../test/verifier/verify.py')
const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 8))']).status === 0

await t.test('the published export verifies, and the same export is made again', async (t) => {
  const folder = t.testdir()
  const { manifest } = vectors.export
  writeFileSync(join(folder, 'events.ndjson.manifest.json'), manifest)
  writeFileSync(
    join(folder, 'events.ndjson'),
    vectors.events
      .slice(2, 7)
      .map(({ line }) => `${line}\n`)
      .join(''),
  )
  const ran = await verify(join(folder, 'events.ndjson'), '--vkey', VKEY)
  t.match(ran, { exit: 0, err: '' })
  t.equal(ran.out.split('\n').at(-2), `verified 5 events, size 11, root ${vectors.checkpoint.split('\n')[2]}`)
  const bounds = { afterIndex: '1', beforeIndex: '7' }
  const out = join(folder, 'again.ndjson')
  await madeExport(published, folder, {
    out,
    manifest: `${out}.manifest.json`,
    selection: { filter: {}, bounds, personal: 'sealed' },
  })
  t.equal(readFileSync(`${out}.manifest.json`, 'utf8'), manifest.replace('events.ndjson', 'again.ndjson'))
})

await t.test('verify prints the cosignatures of given witnesses, which make no other key trusted', async (t) => {
  const folder = t.testdir()
  const { out } = await madeExport(published, folder)
  const path = `${out}.manifest.json`
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as Manifest
  const { privateKey } = signerWith(9)
  const body = manifest.checkpoint.slice(0, manifest.checkpoint.indexOf('\n\n') + 1)
  const seconds = Date.parse('2026-02-03T04:05:06Z') / 1000
  const checkpoint = manifest.checkpoint + cosign('w.example/w1', privateKey, body, seconds)
  writeFileSync(path, `${canonical({ ...manifest, checkpoint })}\n`)
  const witness = vkeyOfWitness('w.example/w1', privateKey, 4)
  const line = 'w.example/w1 signed size 11 at 2026-02-03T04:05:06.000Z\n'
  t.match(await verify(out, '--vkey', VKEY, '--vkey', witness), { exit: 0, err: '', out: `${line}verified 11 events` })
  t.match(await report(out, '--vkey', VKEY, '--vkey', witness), {
    verified: true,
    cosigned: [{ name: 'w.example/w1', size: 11, time: '2026-02-03T04:05:06.000Z' }],
  })
  t.match(await verify(out, '--vkey', VKEY), { exit: 0, out: /^verified/ }, 'lines of unknown keys are ignored')
  if (hasPython) {
    const args = ['-B', python, 'export', path, '--vkey', VKEY, '--vkey', witness]
    const { stdout } = spawnSync('python3', args, { encoding: 'utf8' })
    t.match(JSON.parse(stdout), { verdict: 'ok', cosigned: [['w.example/w1', 11, seconds]] })
  }
  const absent = vkeyOfWitness('w.example/w2', privateKey, 4)
  t.match(await verify(out, '--vkey', VKEY, '--vkey', absent), { exit: 0, err: /no checkpoint.*w.example\/w2/i })
  const other = vkeyOf(signerWith(3, 'other.example/ledger/00000000').key)
  t.match(await verify(out, '--vkey', other, '--vkey', witness), { exit: 3, out: /other origin/ })
  writeFileSync(path, `${canonical({ ...manifest, checkpoint: checkpoint.replace(/.{9}==\n$/, 'AAAAAAAAA==\n') })}\n`)
  t.match(await verify(out, '--vkey', VKEY, '--vkey', witness), { exit: 3, out: /checkpoint: wrong signature/ })
})

await t.test('verify names missing files, other keys, origins and checkpoints', async (t) => {
  const folder = t.testdir()
  const { out } = await madeExport(published, folder)
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const ledger = ledgerOf(published)
  const other = signerWith(9)
  t.equal((await verify(join(folder, 'none'))).exit, 4)
  t.match(await verify(out, '--vkey', vkeyOf(other.key)), { exit: 3, out: /checkpoint: unknown key/ })
  t.match(await verify(out, '--vkey', vkeyOf(signerWith(7, 'other.example/ledger/00000000').key)), {
    exit: 3,
    out: /checkpoint: other origin/,
  })
  t.equal((await verify(out, '--vkey', 'a+b+c')).exit, 2)
  t.match(await verify(out, '--vkey', file('key', `${VKEY}\n`)), { exit: 0, err: '' })
  t.match(await verify(out, '--checkpoint', file('c5', await ledger.checkpoint(5))), { exit: 0, err: /--vkey KEY/ })
  const longer = ledgerOf([...published, published[0]!])
  t.match(await verify(out, '--checkpoint', file('c12', await longer.checkpoint())), {
    exit: 3,
    out: /c12 \(size 12\): log shorter than the checkpoint, 11 of 12 records/,
  })
  const another = ledgerOf([...published.slice(0, 4), published[7]!])
  t.match(await verify(out, '--checkpoint', file('a5', await another.checkpoint())), {
    exit: 3,
    out: /a5 \(size 5\): another history/,
  })
  const forged = (await ledger.checkpoint(5)).replace('\n5\n', '\n6\n')
  t.match(await verify(out, '--checkpoint', file('f', forged)), { exit: 3, out: /f: wrong signature/ })

  // A changed key: the old one is trusted, and one checkpoint has both signatures.
  const rewritten = JSON.parse(readFileSync(`${out}.manifest.json`, 'utf8')) as Manifest
  const both = file('both', await ledger.checkpoint(5, [SIGNER, other]))
  file(
    'out.manifest.json',
    `${canonical({ ...rewritten, vkeys: [vkeyOf(other.key)], checkpoint: await ledger.checkpoint(11, [other]) })}\n`,
  )
  t.match(await verify(out, '--vkey', VKEY), { exit: 3, out: /unknown key/ })
  t.match(await verify(out, '--vkey', VKEY, '--checkpoint', both), { exit: 0 })

  const part = { filter: {}, bounds: { afterIndex: '7' }, personal: 'sealed' } as const
  await madeExport(published, folder, { selection: part })
  t.match(await verify(out, '--checkpoint', join(folder, 'c5')), { exit: 3, out: /not comparable/ })
  await madeExport(published, folder, { selection: part, against: join(folder, 'c5') })
  t.match(await verify(out, '--checkpoint', join(folder, 'c5')), { exit: 0 })
})

const FORMATS: readonly ExportFormat[] = ['ndjson', 'csv', 'cloudevents']

/** Random records of all kinds of streams, with texts that need every escape. */
const recordsOf = ({ below, of }: Random, count: number): readonly Stored[] => {
  const revisions = new Map<string, bigint>()
  return Array.from({ length: count }, (_, n) => {
    const stream = of(['flag-default+a', 'flag-shop+b', 'token-1', 'namespace-shop'])
    const revision = (revisions.get(stream) ?? -1n) + 1n
    revisions.set(stream, revision)
    const name = of(['plain', 'Größe "x",\n\\', '=1+1', '😀', '{"meta":1}'])
    const data = { namespace: 'shop', name, meta: { meta: [name] }, n: below(1_000) }
    const meta = {
      actor: { kind: 'token', id: `t-${below(3)}`, method: 'token' },
      command: 'Do',
      instance: 'i',
      reason: name,
    }
    return {
      id: randomUUID(),
      stream,
      revision,
      position: BigInt(n + 1),
      type: of(['FlagUpdated', 'TokenIssued.v2', 'NamespaceCreated']),
      time: new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString(),
      data: canonical(data),
      meta: canonical(meta),
    }
  })
}

/** The first difference of two lists of letters by the definition of §7.5. */
const differenceOf = (kept: readonly string[], have: readonly string[]): Found | undefined => {
  const index = kept.findIndex((one, n) => one !== have[n])
  if (index < 0) return undefined
  if (index >= have.length) return { kind: 'truncated', index }
  const [isKnown, isThere] = [kept.includes(have[index]!), have.includes(kept[index]!)]
  return { kind: isKnown ? (isThere ? 'moved' : 'removed') : isThere ? 'inserted' : 'changed', index }
}

/** One random change of a list. */
const tampered = <T>({ below, of }: Random, items: readonly T[], edit: (item: T) => T, other: T): readonly T[] => {
  const at = below(items.length)
  const to = (at + 1 + below(items.length - 1)) % items.length
  return of([
    () => items.with(at, edit(items[at]!)),
    () => items.toSpliced(at, 1),
    () => items.toSpliced(at, 0, other),
    () => items.with(at, items[to]!).with(to, items[at]!),
    () => items.slice(0, at),
  ])()
}

/** Number of mutated exports; 10,000 is that of the contract, at which the independent verifier checks every case. */
const MUTATIONS = Number(process.env['ROLLCALL_TEST_MUTATIONS'] ?? 300)

type Check = (out: string, ...options: readonly string[]) => Promise<Report & { readonly exit: number | null }>
type Case = {
  readonly random: Random
  readonly folder: string
  readonly records: readonly Stored[]
  /** File with the retained hashes. */
  readonly hashes: string
  readonly check: Check
}
/** Problem of a case, as text; undefined if its verdict is right. */
type Outcome = Promise<string | undefined>

const isNamedAs = ({ findings }: Report, expected: Found): boolean =>
  findings.some(({ kind, index }) => kind === expected.kind && index === expected.index)

/** The log is written again with new hashes, and its own key signs it. Retained: hashes and a checkpoint. */
const rewrittenLog = async ({ random, folder, records, hashes, check }: Case): Outcome => {
  const { below, of, chance } = random
  const size = 1 + below(records.length)
  const retained = join(folder, 'retained')
  writeFileSync(retained, await ledgerOf(records).checkpoint(size))
  const [extra] = recordsOf(random, 1) as [Stored]
  const edit = (one: Stored) => ({ ...one, data: one.data.replace('shop', 'shot') })
  const changed = tampered(random, records, edit, extra)
  if (changed.length === 0) return undefined
  const { out } = await madeExport(changed, folder, { format: of(FORMATS), gzip: chance(0.2) })
  const letter = ({ id, data }: Stored) => id + data
  const expected = differenceOf(records.map(letter), changed.map(letter))
  const named = await check(out, '--hashes', hashes, '--checkpoint', retained)
  // An export that ends earlier than the retained hashes is no shorter log: only a later checkpoint shows that.
  const isCut = expected?.kind === 'truncated'
  if (expected && !isCut && !isNamedAs(named, expected)) return JSON.stringify([expected, named])
  const isAfter = expected === undefined || expected.index! >= size
  const plain = await check(out, '--checkpoint', retained)
  return plain.verified === isAfter ? undefined : JSON.stringify([size, expected, plain])
}

type Made = { readonly format: ExportFormat; readonly text: string; readonly manifest: Manifest }

/** The file is changed, and mostly its hash in the manifest too. Retained: hashes. */
const changedFile = async ({ random, folder, hashes, check }: Case, { format, text, manifest }: Made): Outcome => {
  const { below, chance } = random
  const end = format === 'csv' ? '\r\n' : '\n'
  const lines = text.split(end).slice(0, -1)
  const head = lines.splice(0, format === 'csv' ? 1 : 0)
  const other = lines[below(lines.length)]!.replaceAll('"n', '"m').replaceAll('Z', 'Y')
  const changed = tampered(random, lines, (line) => line.replace(/shop(?=[^p]*$)/, 'shot'), other)
  const content = [...head, ...changed].map((line) => line + end).join('')
  const out = join(folder, 'out')
  writeFileSync(out, content)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const stated = { ...manifest.files[0]!, bytes: Buffer.byteLength(content), sha256, events: changed.length }
  const given = chance(0.7) ? { ...manifest, events: changed.length, files: [stated] } : manifest
  writeFileSync(`${out}.manifest.json`, `${canonical(given)}\n`)
  const expected = differenceOf(lines, changed)
  const named = await check(out, '--hashes', hashes)
  if (expected && !isNamedAs(named, expected)) return JSON.stringify([format, expected, named])
  const plain = await check(out)
  const isFound = !named.verified && named.exit === 3 && !plain.verified
  return isFound === (expected !== undefined) ? undefined : JSON.stringify([format, expected, named, plain])
}

const KINDS = ['changed', 'removed', 'inserted', 'moved', 'truncated']

/** Checks exports, and compares the verdicts with those of the independent verifier at the end. */
const twoVerifiers = (folder: string, isCompared: () => boolean) => {
  const compared: { readonly arguments: readonly string[]; readonly ours: Report }[] = []
  const check: Check = async (out, ...options) => {
    const given = ['--vkey', VKEY, ...options]
    const ours = await report(`${out}.manifest.json`, ...given)
    if (isCompared()) compared.push({ arguments: ['export', `${out}.manifest.json`, ...given], ours })
    return ours
  }
  /** Cases in which the verdicts differ. A difference that the other verifier names is among ours. */
  const disagreements = (): readonly string[] => {
    if (!hasPython) return []
    writeFileSync(join(folder, 'batch'), JSON.stringify(compared.map((one) => one.arguments)))
    const options = { encoding: 'utf8', maxBuffer: 2 ** 26 } as const
    const { stdout, stderr } = spawnSync('python3', ['-B', python, 'batch', join(folder, 'batch')], options)
    const verdicts = stdout.split('\n').slice(0, -1)
    if (verdicts.length !== compared.length) return [`${verdicts.length} of ${compared.length} verdicts: ${stderr}`]
    return compared.flatMap(({ ours, arguments: given }, n) => {
      const { verdict, index } = JSON.parse(verdicts[n]!) as { readonly verdict: string; readonly index?: number }
      const isNamed = given.includes('--hashes') && KINDS.includes(verdict)
      const isSame = !isNamed || ours.findings.some((found) => found.kind === verdict && found.index === index)
      return (verdict === 'ok') === ours.verified && isSame ? [] : [`${verdicts[n]} ${JSON.stringify([ours, given])}`]
    })
  }
  return { check, compared, disagreements }
}

const seeded = (t: Test): Random => {
  const seed = Number(process.env['ROLLCALL_TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  t.comment(`ROLLCALL_TEST_SEED=${seed}`)
  return randomOf(seed)
}

await t.test('1,000 random tamperings are found and named by both verifiers', async (t) => {
  const random = seeded(t)
  const root = t.testdir()
  const wrong: string[] = []
  const { check, disagreements } = twoVerifiers(root, () => random.chance(MUTATIONS / 2_000))
  for (let n = 0; n < 50; n++) {
    const records = recordsOf(random, 4 + random.below(12))
    const hashes = join(root, `${n}-hashes`)
    writeFileSync(hashes, ledgerOf(records).hashes())
    let cases = 0
    const noted = async (name: string, outcome: (given: Case) => Outcome) => {
      const folder = join(root, `${n}-${cases++}`)
      mkdirSync(folder)
      const problem = await outcome({ random, folder, records, hashes, check })
      if (problem !== undefined) wrong.push(`${n} ${name}: ${problem}`)
    }
    for (let m = 0; m < 8; m++) await noted('log', rewrittenLog)
    const format = random.of(FORMATS)
    const folder = join(root, `${n}`)
    mkdirSync(folder)
    const { out } = await madeExport(records, folder, { format })
    const manifest = JSON.parse(readFileSync(`${out}.manifest.json`, 'utf8')) as Manifest
    const made = { format, text: readFileSync(out, 'utf8'), manifest }
    for (let m = 0; m < 12; m++) await noted('file', (given) => changedFile(given, made))
  }
  t.strictSame(wrong.slice(0, 5), [], `${wrong.length} wrong`)
  t.strictSame(disagreements().slice(0, 5), [], 'the independent verifier agrees')
})

/** Bytes with one random change. */
const mutated = ({ below, of }: Random, bytes: Buffer): Buffer => {
  const [at, other] = [below(bytes.length), below(bytes.length)]
  const [low, high] = [Math.min(at, other), Math.min(Math.max(at, other), Math.min(at, other) + 40)]
  const piece = bytes.subarray(low, high)
  const between = (middle: Uint8Array, from = at) =>
    Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(from)])
  return of([
    () => between(Buffer.of(bytes[at]! ^ (1 << below(8))), at + 1),
    () => between(Buffer.of(below(256)), at + 1),
    () => between(Buffer.alloc(0), at + 1),
    () => between(Buffer.of(of([...Buffer.from(' \t\r\n",:{}[]0e-\\\'')]))),
    () => between(piece),
    () => Buffer.concat([bytes.subarray(0, low), bytes.subarray(high)]),
  ])()
}

await t.test('both verifiers agree on mutated exports', async (t) => {
  const random = seeded(t)
  const { below, of, chance } = random
  const root = t.testdir()
  const bases = await Promise.all(
    FORMATS.map(async (format) => {
      const folder = join(root, format)
      mkdirSync(folder)
      const { out } = await madeExport(recordsOf(random, 6), folder, { format })
      return { data: readFileSync(out), manifest: readFileSync(`${out}.manifest.json`, 'utf8') }
    }),
  )
  const { check, disagreements } = twoVerifiers(root, () => true)
  let verified = 0
  for (let n = 0; n < MUTATIONS; n++) {
    const base = of(bases)
    // In a folder of its own, so that a changed file name never names the file of another mutation.
    const folder = join(root, `${n}`)
    mkdirSync(folder)
    const out = join(folder, 'out')
    const isOfData = chance(0.6)
    const data = isOfData ? mutated(random, base.data) : base.data
    const stated = JSON.parse(base.manifest) as Manifest
    const sha256 = createHash('sha256').update(data).digest('hex')
    const file = { ...stated.files[0]!, bytes: data.length, sha256 }
    const manifest = `${canonical({ ...stated, files: [file] })}\n`
    writeFileSync(out, data)
    writeFileSync(
      `${out}.manifest.json`,
      isOfData || below(20) === 0 ? manifest : mutated(random, Buffer.from(manifest)),
    )
    if ((await check(out)).verified) verified++
  }
  t.comment(`${verified} of ${MUTATIONS} verified`)
  t.strictSame(disagreements().slice(0, 5), [])
})
