import { randomUUID } from 'node:crypto'
import t from 'tap'
import { Refusal, refuse } from '../../src/base/errors.ts'
import { erasedInLog, erasureStore, erasures } from '../../src/projections/erasures.ts'
import { project } from '../../src/projections/projection.ts'
import { memoryStore } from '../memory-log.ts'

const [ANN, BOB] = [`person-${'A'.repeat(22)}`, `person-${'B'.repeat(22)}`]
const DAY = 'network-2026-01-01'
const time = '2026-01-01T00:00:00.000Z'

/** Log, and the memory of an instance. `append` reaches the memory only with `applied`. */
const world = () => {
  const reads: string[] = []
  const store = memoryStore({ pause: async (what) => void (what.startsWith('read') && reads.push(what.slice(5))) })
  const log = store.open()
  const held = erasureStore(() => undefined)
  const append = async (stream: string, type: string, data: object): Promise<void> => {
    await log.append(stream, [{ id: randomUUID(), type, time, data: JSON.stringify(data), meta: '{}' }], 'none')
  }
  return {
    log,
    held,
    reads,
    /** Issues a token, to a person if there is a subject. Returns the subject of its keys. */
    issue: async (subject?: string): Promise<string> => {
      const id = randomUUID()
      const login = { method: 'oidc', attributes: { 'oidc.provider': 'main' }, subject, identity: `sub-${id}` }
      const by = subject === undefined ? { method: 'token', attributes: { 'token.name': 'ci' } } : login
      await append(`token-${id}`, 'TokenIssued', { id, digest: 'k.d', issuedAt: time, metadata: {}, ...by })
      return `token-${id}`
    },
    request: (subject: string, ...keys: string[]) =>
      append(`keys-${subject}`, 'SubjectErasureRequested', { subject, keys, reason: 'r' }),
    applied: (): void => {
      for (const event of store.all)
        if (event.stream.startsWith('keys-')) held.set(erasures.name, project(erasures, undefined, event))
    },
  }
}

await t.test('an erasure covers its subject, the keys that it names and the tokens of the person', async (t) => {
  const { log, held, issue, request, applied, reads } = world()
  const [named, keyless, ofBob, ofNobody] = [await issue(ANN), await issue(ANN), await issue(BOB), await issue()]
  await request(ANN, ANN, named)
  await request(DAY, DAY)
  applied()
  const isErased = erasedInLog(log, held)
  for (const subject of [ANN, named, DAY]) t.equal(await isErased(subject), true, subject)
  t.strictSame(reads, [], 'memory has these')
  for (let n = 0; n < 2; n++) t.equal(await isErased(keyless), true)
  t.strictSame(reads, [keyless], 'the holder of a token is read once')
  for (const subject of [BOB, ofBob, ofNobody, `token-${randomUUID()}`, 'network-2026-01-02', `${ANN}.2`])
    t.equal(await isErased(subject), false, subject)
})

await t.test('an erasure by another instance counts before it is in memory', async (t) => {
  const { log, held, issue, request } = world()
  const keyless = await issue(ANN)
  const isErased = erasedInLog(log, held)
  t.strictSame([await isErased(ANN), await isErased(keyless)], [false, false])
  await request(ANN, ANN)
  t.strictSame([await isErased(ANN), await isErased(keyless)], [true, true])
})

await t.test('an unreadable stream has no erasure, and an unavailable log decides nothing', async (t) => {
  const under = (reason: 'event_unreadable' | 'backend_unavailable') =>
    erasedInLog({ read: () => refuse(reason) }, world().held)
  t.equal(await under('event_unreadable')(ANN), false)
  await t.rejects(under('backend_unavailable')(ANN), new Refusal('backend_unavailable'))
})
