import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { flag } from '../../src/commands/flag/flag.ts'
import { token } from '../../src/commands/token.ts'
import type { AnyEvent } from '../../src/events/define.ts'
import type { EventLog } from '../../src/events/log.ts'
import { unreadableOf } from '../../src/events/unreadable.ts'
import { memoryLog } from '../memory-log.ts'
import { told } from '../projections/stored.ts'
import { flagCreated, ofFlag, tokenIssued } from '../samples.ts'
import { virtualClock } from '../virtual-clock.ts'

const sealer = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const context = { actor: { kind: 'operator' } } as const
const odd = { type: 'TokenPaused', data: {} }

const setup = async (stream: string, events: readonly AnyEvent[]) => {
  const log = memoryLog()
  await log.append(stream, told(stream, events), 'none')
  const clock = virtualClock()
  const writing = (over: EventLog = log) => executor(over, enveloper(sealer, 'test', clock.now), { clock })
  const types = () => log.all.map(({ type }) => type)
  return { log, writing, types }
}

await t.test('a command on a stream with an event that cannot be read is refused', async (t) => {
  const { writing, types } = await setup('flag-ns+f', [flagCreated, { type: 'FlagArchived', data: {} }])
  const { execute, foldOf } = writing()
  const update = { ...ofFlag, name: 'new', description: '', enabled: true }
  for (const commandId of [undefined, 'c1']) {
    const asked = { ...context, ...(commandId !== undefined && { commandId }) }
    const refused: unknown = await execute(flag, 'ns+f', 'UpdateFlag', update as never, asked).catch(
      (error: unknown) => error,
    )
    t.match(refused, new Refusal('event_unreadable'))
    t.match(unreadableOf(refused), { stream: 'flag-ns+f', revision: '1', type: 'FlagArchived', position: '20' })
  }
  await t.rejects(foldOf(flag, 'ns+f'), new Refusal('event_unreadable'))
  t.strictSame(types(), ['FlagCreated', 'FlagArchived'])
})

await t.test('a token with an event that cannot be read is revoked once', async (t) => {
  const { writing, types, log } = await setup('token-t1', [tokenIssued, odd])
  const { execute } = writing()
  const { stored } = await execute(token, 't1', 'RevokeToken', { id: 't1' }, { ...context, commandId: 'c1' })
  t.equal(stored[0]?.revision, 2n)
  const again = await execute(token, 't1', 'RevokeToken', { id: 't1' }, { ...context, commandId: 'c1' })
  t.equal(again.repeated, true)
  t.strictSame((await execute(token, 't1', 'RevokeToken', { id: 't1' }, context)).stored, [])
  t.strictSame(types(), ['TokenIssued', 'TokenPaused', 'TokenRevoked'])
  t.equal(log.all.length, 3)
})

await t.test('a token whose first events are lost can be revoked', async (t) => {
  const changed = { type: 'TokenExpiryChanged', data: { id: 't1', to: '2026-01-15T00:00:00.000Z' } }
  const { writing, log } = await setup('token-t1', [tokenIssued, changed])
  const { execute } = writing({ ...log, read: (stream, from = 0n) => log.read(stream, from < 1n ? 1n : from) })
  const { stored } = await execute(token, 't1', 'RevokeToken', { id: 't1' }, context)
  t.equal(stored[0]?.revision, 2n)
})

await t.test('a token with an event that cannot be read refuses all commands except its revocation', async (t) => {
  const { writing, types } = await setup('token-t1', [tokenIssued, odd])
  const { execute } = writing()
  const shorter = { id: 't1', expiresAt: '2026-01-02T00:00:00.000Z', now: '2026-01-01T00:00:00.000Z' }
  await t.rejects(execute(token, 't1', 'ExpireTokenEarlier', shorter, context), new Refusal('event_unreadable'))
  await t.rejects(execute(token, 't1', 'IssueToken', tokenIssued.data, context), new Refusal('event_unreadable'))
  const cleanup = await execute(token, 't1', 'CleanUpToken', { id: 't1', before: '2099-01-01T00:00:00.000Z' }, context)
  t.strictSame(cleanup.stored, [])
  t.strictSame(types(), ['TokenIssued', 'TokenPaused'])
})
