import { createPublicKey } from 'node:crypto'
import t, { type Test } from 'tap'
import { newSigningKey } from '../../src/ledger/ledger-store.ts'
import type { SendToWitness } from '../../src/ledger/witness/submission.ts'
import { bodyOf, cosignatureIn } from '../../src/ledger/witness/submission.ts'
import { signerOf, signNote, verifyCheckpoint } from '../../src/verifier/note/signatures.ts'
import { parseVkey } from '../../src/verifier/note/vkey.ts'
import { cosign, type WitnessAnswer, type WitnessRequest, witness } from '../stand-ins/witness.ts'
import { eventually } from '../wait.ts'
import { ledgerWorld, ORIGIN, type World } from './ledger-world.ts'

const NAME = 'witness.example/w1'
const ROOT = Buffer.alloc(32, 7).toString('base64')
const plain = (status: number, text = ''): WitnessAnswer => ({ status, contentType: 'text/plain', text })
const sized = (text: string): WitnessAnswer => ({ status: 409, contentType: 'text/x.tlog.size', text })

/** Answers instead of the witness, or lets it answer. */
type Instead = (request: WitnessRequest) => WitnessAnswer | Promise<WitnessAnswer> | undefined

/** A ledger with one witness that trusts its key. */
const witnessedWorld = async () => {
  const world = await ledgerWorld()
  const privateKey = newSigningKey()
  const own = witness(NAME, privateKey, world.clock.now)
  own.trusted.set(ORIGIN, createPublicKey(world.key))
  const outcomes: string[] = []
  const instead: { answer: Instead } = { answer: () => undefined }
  const parsed = parseVkey(own.vkey)!
  const send: SendToWitness = async ({ method, url, body = '' }) => {
    const request = { method, path: url.slice('https://w.example'.length), body }
    return (await instead.answer(request)) ?? own.handle(request)
  }
  const witnesses = {
    list: [{ url: 'https://w.example', monitor: 'https://w.example', vkey: own.vkey, key: parsed }],
    send,
    onOutcome: (_: unknown, outcome: object) =>
      void outcomes.push(Object.values(outcome).slice(0, 2).map(String).join(': ')),
  }
  const engine: World['engine'] = (interrupt, over) => world.engine(interrupt, { witnesses, ...over })
  return {
    ...world,
    own,
    privateKey,
    outcomes,
    instead,
    engine,
    /** Seals `count` further events. */
    seal: async (ledger: ReturnType<typeof engine>, count = 1) => {
      await world.grow(count)
      await world.clock.advance(11_000)
      // A seal of many events takes more turns of the event loop than an advance waits for.
      await eventually(async () => {
        if (ledger.state() !== 'ok' || ledger.served()?.size === world.size()) return true
        await world.clock.advance(500)
        return false
      }, 'a seal of all events')
      return ledger.served()!
    },
  }
}
type Witnessed = Awaited<ReturnType<typeof witnessedWorld>>

const begun = async () => {
  const world = await witnessedWorld()
  const ledger = world.engine()
  await ledger.begin()
  await world.clock.advance(1_000)
  return { ...world, ledger }
}
const stateOf = async (ledger: ReturnType<Witnessed['engine']>) => (await ledger.status()).witnesses[0]!

const insistOnCosigned = (t: Test, { verifier, own }: Witnessed, text: string): number | undefined => {
  const checkpoint = verifyCheckpoint(text, [verifier, parseVkey(own.vkey)!])
  if (typeof checkpoint === 'string') throw new Error(checkpoint)
  t.equal(checkpoint.signatures.length, 2, 'one signature of the ledger and one of the witness')
  return checkpoint.signatures[1]!.time
}

await t.test('a witness signs each checkpoint, with a proof from the one before', async (t) => {
  const world = await begun()
  const { ledger, own, seal, content } = world
  const sizes = []
  let time: number | undefined
  for (const count of [1, 2, 5, 300, 1]) {
    const { size, text } = await seal(ledger, count)
    sizes.push(size)
    time = insistOnCosigned(t, world, text)
    t.equal(content.kept.get(size)!.text, text, 'it is kept')
    t.equal(bodyOf(text), bodyOf(content.sealed!.text!), 'with the same body')
  }
  t.strictSame(sizes, [2, 4, 9, 309, 310])
  t.strictSame(
    own.requests.map(({ body }) => body.split('\n')[0]),
    ['old 0', 'old 1', 'old 2', 'old 4', 'old 9', 'old 309'],
  )
  t.strictSame(await stateOf(ledger), {
    vkey: own.vkey,
    size: 310,
    at: new Date(time! * 1000).toISOString(),
  })
  await ledger.close()
  t.strictSame(world.errors, [])
  t.equal(world.verify(t) > 0, true)
})

await t.test('a restart continues from the kept cosignature, or from the size in the answer', async (t) => {
  const world = await begun()
  const { size } = await world.seal(world.ledger, 6)
  await world.ledger.close()
  const again = world.engine()
  await again.begin()
  world.own.requests.length = 0
  insistOnCosigned(t, world, (await world.seal(again)).text)
  t.match(world.own.requests, [{ body: new RegExp(`^old ${size}\n`) }])
  await again.close()

  world.content.kept.clear()
  const unaware = world.engine()
  await unaware.begin()
  world.own.requests.length = 0
  insistOnCosigned(t, world, (await world.seal(unaware)).text)
  t.match(world.own.requests, [{ body: /^old 0\n\n/ }, { body: new RegExp(`^old ${size + 1}\n`) }])
  t.equal((await stateOf(unaware)).size, size + 2)
  await unaware.close()
  t.strictSame(world.errors, [])
})

await t.test('a failing witness stops no seal, and signs the next checkpoint', async (t) => {
  const world = await begun()
  const { ledger, seal, instead, own } = world
  let other = 0
  const failures: readonly (readonly [answer: Instead, why: RegExp])[] = [
    ...[301, 400, 403, 404, 429, 500, 503].map(
      (status) => [() => plain(status), new RegExp(`status ${status}$`)] as const,
    ),
    [() => Promise.reject(new Error('no answer within 5 s')), /^no answer within 5 s$/],
    [() => plain(200), /no valid cosignature/],
    [() => plain(200, 'nonsense'), /no valid cosignature/],
    [
      ({ body }) =>
        plain(200, cosign('w.example/other', world.privateKey, bodyOf(body.slice(body.indexOf('\n\n') + 2)), 0)),
      /no valid/,
    ],
    [() => plain(200, cosign(NAME, world.privateKey, `${ORIGIN}\n1\n${ROOT}\n`, 0)), /no valid cosignature/],
    [() => sized(`${other++ % 2}\n`), /another size each time/],
  ]
  for (const [answer, why] of failures) {
    instead.answer = answer
    const { size, text } = await seal(ledger)
    t.equal(size, ledger.size(), 'it seals')
    t.equal(text.split('\n').length, 6, 'without a further line')
    const state = await stateOf(ledger)
    t.match(state.error, why)
    t.equal(state.conflict, undefined)
    instead.answer = () => undefined
    insistOnCosigned(t, world, (await seal(ledger)).text)
    t.equal((await stateOf(ledger)).error, undefined)
  }
  own.requests.length = 0
  other = 0
  instead.answer = failures.at(-1)![0]
  await seal(ledger)
  t.equal(other, 3, 'at most three submissions of a checkpoint')
  t.equal(ledger.state(), 'ok')
  await ledger.close()
  t.strictSame(world.errors, [])
})

await t.test('the state names a cosignature only when it is kept and served', async (t) => {
  const world = await witnessedWorld()
  let keep: (() => Promise<void>) | undefined
  const ledger = world.engine(async (moment) => {
    if (moment === 'before keep') await keep?.()
  })
  await ledger.begin()
  await world.clock.advance(1_000)
  const { size: before } = await stateOf(ledger)
  const isCosigned = () => ledger.served()!.text.includes(`\n— ${NAME} `)
  const whenSigned = (next: () => Promise<void>) => {
    world.instead.answer = ({ method }) => {
      if (method === 'POST') keep = next
      return undefined
    }
  }

  whenSigned(() => Promise.reject(new Error('no space left')))
  const { size } = await world.seal(ledger)
  await eventually(async () => (await stateOf(ledger)).error !== undefined, 'a signature that is not kept')
  t.match(await stateOf(ledger), { size: before, error: 'the store of the ledger fails: no space left' })
  t.notOk(isCosigned())

  keep = undefined
  let release: (() => void) | undefined
  whenSigned(() => new Promise((done) => (release = done)))
  await world.seal(ledger)
  await eventually(() => release !== undefined, 'a signature that is being kept')
  t.equal((await stateOf(ledger)).size, before)
  t.notOk(isCosigned())
  release!()
  await eventually(async () => (await stateOf(ledger)).size === size + 1, 'a cosignature')
  t.ok(isCosigned())
  t.equal((await stateOf(ledger)).error, undefined)
  await ledger.close()
})

await t.test('a cosignature counts if its time is within five minutes of the clock', async (t) => {
  const world = await begun()
  const { ledger, seal, instead, clock, privateKey } = world
  for (const [seconds, isIn] of [
    [-301, false],
    [-299, true],
    [299, true],
    [301, false],
  ] as const) {
    instead.answer = ({ body }) => {
      const note = bodyOf(body.slice(body.indexOf('\n\n') + 2))
      const now = Math.floor(clock.now().getTime() / 1000)
      const line = cosign(NAME, privateKey, note, now + seconds)
      return plain(
        200,
        `— other.example AAAAAAAA\nnonsense\n${cosign('w.example/x', newSigningKey(), note, now)}${line}`,
      )
    }
    const { text } = await seal(ledger)
    if (isIn) insistOnCosigned(t, world, text)
    t.equal(text.split('\n').length, isIn ? 7 : 6, 'only the line of the known key is added')
    t.match((await stateOf(ledger)).error, isIn ? undefined : /more than 5 minutes/)
  }
  await ledger.close()
})

await t.test('five minutes count, and a millisecond more does not', (t) => {
  const privateKey = newSigningKey()
  const { vkey } = witness(NAME, privateKey, () => new Date())
  const body = `${ORIGIN}\n1\n${ROOT}\n`
  const line = cosign(NAME, privateKey, body, 1_800_000_000)
  for (const [offset, isIn] of [
    [-300_001, false],
    [-300_000, true],
    [300_000, true],
    [300_001, false],
  ] as const) {
    const found = cosignatureIn(line, body, parseVkey(vkey)!, new Date(1_800_000_000_000 + offset))
    t.equal(typeof found === 'object', isIn, `${offset} ms`)
  }
  t.end()
})

/** A refusal, and the checkpoint that the witness publishes. */
const refusing =
  (refusal: WitnessAnswer, shown: WitnessAnswer | Error): Instead =>
  (request) => {
    if (request.method === 'POST') return refusal
    return shown instanceof Error ? Promise.reject(shown) : shown
  }

await t.test('a refusal without a checkpoint of our key is a conflict, and seals go on', async (t) => {
  const world = await begun()
  const { ledger, seal, instead, key, own } = world
  const signed = (origin: string, size: number, by = key) =>
    plain(200, signNote(`${origin}\n${size}\n${ROOT}\n`, [signerOf(origin, by)]))
  const shown: readonly (readonly [WitnessAnswer | Error, RegExp])[] = [
    [plain(404), /cannot be read: status 404/],
    [new Error('answer larger than 16 KiB'), /cannot be read: answer larger than 16 KiB/],
    [plain(200, 'nonsense'), /malformed checkpoint/],
    [signed(ORIGIN, 900, newSigningKey()), /unknown key/],
    [signed('example.org/other', 900), /other origin/],
    [
      plain(200, signNote(`${ORIGIN}\n900\n${ROOT}\n`, [signerOf(ORIGIN, key)]).replace('900', '901')),
      /wrong signature/,
    ],
    [plain(200, ledger.served()!.text), /is one of this log/],
  ]
  for (const refusal of [plain(409), sized('00\n'), sized('900\n'), plain(422)])
    for (const [answer, why] of shown) {
      instead.answer = refusing(refusal, answer)
      const { size } = await seal(ledger)
      t.equal(size, ledger.size())
      const state = await stateOf(ledger)
      t.match(state.conflict, why)
      t.match(state.conflict, `status ${refusal.status}`)
      t.equal(state.error, undefined)
    }
  t.equal(ledger.state(), 'ok')
  instead.answer = () => undefined
  insistOnCosigned(t, world, (await seal(ledger)).text)
  t.equal((await stateOf(ledger)).conflict, undefined)
  t.equal(own.known.get(ORIGIN)!.size, BigInt(ledger.size()))
  await ledger.close()
  t.strictSame(world.errors, [])
})

await t.test('a checkpoint of our key that the log does not extend ends the seals, also after a restart', async (t) => {
  for (const size of [2, 900])
    for (const refusal of [plain(409), sized('900\n'), plain(422)]) {
      const world = await begun()
      const { ledger, seal, instead, key, grow, clock, content } = world
      const text = signNote(`${ORIGIN}\n${size}\n${ROOT}\n`, [signerOf(ORIGIN, key)])
      await seal(ledger, 4)
      instead.answer = refusing(refusal, plain(200, text))
      const last = await seal(ledger)
      t.equal(ledger.state(), 'diverged')
      t.match(world.states.at(-1), /diverged: the witness witness\.example\/w1 has another checkpoint/)
      t.match((await stateOf(ledger)).conflict, `signed checkpoint over ${size} events that is not of this log`)
      t.match(content.sealed!.witnessed, { size, text })
      t.equal((await seal(ledger)).text, last.text, 'the newest checkpoint is served on')
      await ledger.close()
      instead.answer = () => undefined
      const again = world.engine()
      await again.begin()
      await grow(3)
      await clock.advance(120_000)
      t.equal(again.state(), 'diverged')
      t.equal(again.served()!.size, last.size)
      await again.close()
      t.strictSame(world.errors, [])
    }
})

await t.test('a witness recognises an older copy, which goes on after the whole log is restored', async (t) => {
  const world = await begun()
  const { ledger, seal, content, memory, clock, grow } = world
  await seal(ledger, 4)
  const copy = { sealed: content.sealed!, kept: [...content.kept] }
  await seal(ledger, 4)
  await ledger.close()
  const whole = [...memory.all]
  const all = memory.all as (typeof whole)[number][]
  all.length = 5
  content.sealed = copy.sealed
  content.kept = new Map(copy.kept)
  const older = world.engine()
  await older.begin()
  t.equal((await seal(older)).size, 6, 'its directory does not show that it is older')
  t.equal(older.state(), 'diverged')
  t.match(world.states.at(-1), /the log has 6 events, but 9 are sealed/)
  await older.close()
  all.splice(0, all.length, ...whole)
  content.sealed = { ...copy.sealed, witnessed: content.sealed.witnessed! }
  content.kept = new Map(copy.kept)
  const restored = world.engine()
  await restored.begin()
  await grow(1)
  await clock.advance(11_000)
  t.equal(restored.state(), 'ok')
  insistOnCosigned(t, world, restored.served()!.text)
  t.equal(content.sealed.witnessed, undefined)
  await restored.close()
})

await t.test('a silent witness gets one request at a time, the newest checkpoint next, and a cancel', async (t) => {
  const world = await witnessedWorld()
  const silent: { readonly body: string; readonly answer: (with_: WitnessAnswer) => void }[] = []
  const signals: AbortSignal[] = []
  const send: SendToWitness = ({ body = '' }, stop) => {
    signals.push(stop)
    return new Promise((answer, reject) => {
      silent.push({ body, answer })
      stop.addEventListener('abort', () => reject(stop.reason as Error))
    })
  }
  const { own, outcomes } = world
  const list = [{ url: 'https://w.example', monitor: 'https://w.example', vkey: own.vkey, key: parseVkey(own.vkey)! }]
  const ledger = world.engine(() => undefined, {
    witnesses: { list, send, onOutcome: (_, { result }) => void outcomes.push(result) },
  })
  await ledger.begin()
  for (let n = 0; n < 5; n++) await world.seal(ledger)
  t.equal(silent.length, 1)
  t.equal(ledger.served()!.size, 6)
  silent[0]!.answer(own.handle({ method: 'POST', path: '/add-checkpoint', body: silent[0]!.body }))
  await world.clock.settle()
  t.equal(silent.length, 2)
  t.match(silent[1]!.body, `\n${ORIGIN}\n6\n`)
  t.strictSame(outcomes, ['ok'])
  insistOnCosigned(t, world, world.content.kept.get(1)!.text)
  t.equal(ledger.served()!.text.split('\n').length, 6, 'an older line is not added to the served checkpoint')
  const ended = ledger.close()
  await world.clock.settle()
  t.ok(signals.every((signal) => signal.aborted))
  await ended
  t.equal(silent.length, 2)
  t.strictSame([outcomes, world.errors], [['ok'], []])
})

await t.test('of two instances, the one that sealed submits, and both serve the line', async (t) => {
  const world = await witnessedWorld()
  const first = world.engine(() => undefined, { isShared: true })
  await first.begin()
  await world.clock.advance(1_000)
  const second = world.engine(() => undefined, { isShared: true })
  await second.begin()
  for (let n = 0; n < 6; n++) {
    world.own.requests.length = 0
    await world.grow(2)
    await (n % 2 ? first : second).sealNow()
    await world.clock.advance(17_000)
    t.equal(world.own.requests.filter(({ body }) => body.includes(`\n${ORIGIN}\n${3 + 2 * n}\n`)).length <= 2, true)
    for (const each of [first, second]) {
      t.equal(each.served()!.size, 3 + 2 * n)
      insistOnCosigned(t, world, each.served()!.text)
      t.match(await stateOf(each), { size: 3 + 2 * n, error: undefined, conflict: undefined })
    }
  }
  await Promise.all([first.close(), second.close()])
  t.strictSame(world.errors, [])
  world.verify(t)
})
