import t from 'tap'
import { mint, tokenSecrets } from '../../src/auth/client-token.ts'
import { Refusal, refuse } from '../../src/base/errors.ts'
import { eventId, idFrom } from '../../src/commands/envelope.ts'
import { flag } from '../../src/commands/flag/flag.ts'
import { namespace } from '../../src/commands/namespace.ts'
import { token } from '../../src/commands/token.ts'
import type { EventLog, Stored } from '../../src/events/log.ts'
import { type Issuer, issueToken, type TokenGrant } from '../../src/http/auth/issue-token.ts'
import { foldRow } from '../../src/projections/engine/fold-rows.ts'
import { rowOf } from '../../src/projections/engine/memory.ts'
import type { AnyProjection } from '../../src/projections/projection.ts'
import { tokens } from '../../src/projections/tokens.ts'
import { memoryLog } from '../memory-log.ts'
import { namespaceCreated, ofFlag } from '../samples.ts'
import { stateOf } from '../state-of.ts'
import { virtualClock } from '../virtual-clock.ts'
import { begin, complaints, context, flagAsk, instance, rolloutAsk } from './world.ts'

/**
 * Log of a store that loses its quorum. The next append to the stream is refused as undecided, and reads do not show it.
 * The store executes it before the following append to this stream.
 */
const undecided = () => {
  const real = memoryLog()
  let lost: string | undefined
  let held: Parameters<EventLog['append']> | undefined
  const append: EventLog['append'] = async (...given) => {
    const [stream] = given
    if (stream === lost && !held) {
      held = given
      return refuse('backend_unavailable')
    }
    if (stream === lost) {
      lost = undefined
      await real.append(...held!)
    }
    return real.append(...given)
  }
  return { ...real, append, lose: (stream: string) => void (lost = stream) }
}
const isUnavailable = new Refusal('backend_unavailable')
const secrets = tokenSecrets({ kid: 'ab12cd34', key: Buffer.alloc(32, 7) })
const command = { ...context, commandId: '5f0f41a2-6f4a-4f6e-9d4e-3c8f0f6f9f10' }
const grant: TokenGrant = { method: 'token', attributes: { 'token.name': 'n' } }

/** One instance that issues tokens; each has its own time. */
const issuer = (log: EventLog, name: string, time: string): Issuer => ({
  execute: instance(log, name, () => new Date(time)).execute,
  applied: async (stored) =>
    rowOf([
      [tokens as unknown as AnyProjection, await foldRow({ log, clock: virtualClock() }, tokens, stored, undefined)],
    ]),
  secrets,
  now: () => new Date(time),
})
const issuers = (log: EventLog) =>
  [issuer(log, 'one', '2026-01-01T00:00:00.000Z'), issuer(log, 'two', '2026-01-01T00:00:09.000Z')] as const
const digestIn = ({ data }: Stored) => (JSON.parse(data) as { digest: string }).digest

const stream = `token-${idFrom(command.commandId, 'token')}`

await t.test('a repeated token creation gives the secret of the token that was stored late', async (t) => {
  const log = undecided()
  log.lose(stream)
  const [one, two] = issuers(log)
  await t.rejects(issueToken(one, grant, command), isUnavailable)
  t.equal(log.all.length, 0)
  const { clientToken, lost, doc, stored } = await issueToken(two, grant, command)
  t.equal(log.all.length, 1)
  t.strictSame(stored, log.all, 'the answer is of the event in the log')
  t.equal(secrets.digests(clientToken).digest, digestIn(log.all[0]!))
  t.equal(doc.createdAt, '2026-01-01T00:00:00.000Z')
  t.notOk(lost)
  const again = await issueToken(one, grant, command)
  t.strictSame([again.clientToken, again.lost], [clientToken, false], 'also without an answer that was recorded')
})

await t.test('the secret has the prefix of the stored token, even if a later attempt has other roles', async (t) => {
  const log = undecided()
  log.lose(stream)
  const [one, two] = issuers(log)
  const publishable: TokenGrant = { ...grant, grants: [{ place: '*', rights: ['flag.evaluate'] }] }
  await t.rejects(issueToken(one, publishable, command), isUnavailable)
  const { clientToken, lost } = await issueToken(two, grant, command)
  t.match(clientToken, /^rcp_/)
  t.equal(secrets.digests(clientToken).digest, digestIn(log.all[0]!))
  t.notOk(lost)
})

await t.test('the secret is lost if the log has a digest that was not derived from the command', async (t) => {
  const log = memoryLog()
  const [one] = issuers(log)
  const issued = { ...grant, id: 'x', ...secrets.digests(mint('token')), issuedAt: '2026-01-01T00:00:00.000Z' }
  const { commandId } = command
  const { doc } = await issueToken(one, grant, command)
  const old = memoryLog()
  const data = { ...issued, id: doc.id, metadata: {} }
  await instance(old).execute(token, doc.id, 'IssueToken', data, { ...context, commandId })
  t.equal((await issueToken(issuers(old)[0], grant, command)).lost, true)
})

await t.test('without a command id each creation has a random secret', async (t) => {
  const [one] = issuers(memoryLog())
  const made = [await issueToken(one, grant, context), await issueToken(one, grant, context)]
  t.equal(new Set(made.map(({ clientToken }) => clientToken)).size, 2)
})

await t.test('the outcome of a repeated command is that of the events that were stored late', async (t) => {
  const log = undecided()
  log.lose('namespace-late')
  const made = (incarnation: string) => ({ ...namespaceCreated.data, key: 'late', incarnation })
  const { execute } = instance(log)
  await t.rejects(execute(namespace, 'late', 'CreateNamespace', made('first'), command), isUnavailable)
  const outcome = await execute(namespace, 'late', 'CreateNamespace', made('second'), command)
  t.strictSame(outcome.stored, log.all)
  t.equal(outcome.repeated, true)
  t.equal(outcome.state.incarnation, 'first')
  t.equal((await stateOf(log, namespace, 'late')).incarnation, 'first')
})

await t.test('a repeated command returns all of its events, even if its second attempt decides fewer', async (t) => {
  const log = undecided()
  await begin(log)
  log.lose('flag-ns+f')
  const adds = (...ids: readonly string[]) => ({
    ...ofFlag,
    changes: ids.map((id) => ({ op: 'AddRule', id, segments: ['s'], operator: 'or', distributions: [] }) as const),
  })
  const { reservations } = instance(log)
  await t.rejects(reservations.changeFlag(adds('a', 'b'), command), isUnavailable)
  const outcome = await reservations.changeFlag(adds('a'), command)
  t.strictSame(
    outcome.stored.filter(({ stream }) => stream === 'flag-ns+f').map(({ revision }) => revision),
    [1n, 2n],
  )
  t.strictSame(outcome.state, await stateOf(log, flag, 'ns+f'))
  t.strictSame(await complaints(log), [])
})

await t.test('a repeated creation of a flag keeps the reservation of the flag that was stored late', async (t) => {
  const log = undecided()
  await begin(log)
  log.lose('flag-ns+g')
  const [one, two] = [instance(log, 'one').reservations, instance(log, 'two').reservations]
  await t.rejects(one.createFlag(flagAsk('g'), command), isUnavailable)
  const { state } = await two.createFlag(flagAsk('g'), command)
  t.strictSame(state, await stateOf(log, flag, 'ns+g'))
  t.strictSame(await complaints(log), [])
  const reserved = [...(await stateOf(log, namespace, 'ns')).reservations]
  t.equal(
    reserved.filter(([, { flag }]) => flag === 'g').length,
    1,
    'the reservation of the second attempt is released',
  )
})

await t.test('a repeated command that was stored as sent is not reported as repeated', async (t) => {
  const log = memoryLog()
  await begin(log)
  const { reservations } = instance(log)
  const ask = { ...rolloutAsk('o1', 's'), rank: 0 }
  const first = await reservations.addRollout(ask, command)
  t.equal(first.repeated, false)
  t.equal((await reservations.addRollout(ask, command)).repeated, true)
})

/** Log whose reads show the event of the command only after `reads` further reads of its stream. */
const hiding = (log: EventLog, id: string, reads: number): EventLog => ({
  ...log,
  read: async function* (...given) {
    for await (const page of log.read(...given)) {
      const shown =
        page.some((event) => event.id === id) && reads-- > 0 ? page.filter((event) => event.id !== id) : page
      if (shown.length > 0) yield shown
    }
  },
})

await t.test('an acknowledged command waits until the log shows its events, and is then unavailable', async (t) => {
  const id = eventId(command.commandId, 'namespace-ns', 0)
  const late = instance(hiding(memoryLog(), id, 11)).execute
  t.equal((await late(namespace, 'ns', 'CreateNamespace', namespaceCreated.data, command)).repeated, false)
  const never = instance(hiding(memoryLog(), id, 12)).execute
  // A conflict would free the idempotency key, although the command had its effect.
  await t.rejects(never(namespace, 'ns', 'CreateNamespace', namespaceCreated.data, command), isUnavailable)
})
