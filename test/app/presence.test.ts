import { createHash } from 'node:crypto'
import t from 'tap'
import { aboutOf } from '../../src/app/features/instance.ts'
import { presenceOf } from '../../src/app/lifecycle/presence.ts'
import { canonical } from '../../src/base/canonical.ts'
import { version } from '../../src/base/version.ts'
import { loadConfig } from '../../src/config/load.ts'
import { onCluster } from '../cluster/own.ts'
import { allEventsOf } from '../http/events-of.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'

const isOfInstance = ({ type }: { readonly type: string }) => type === 'InstanceStarted' || type === 'InstanceStopped'

await t.test('the event log records each start and each stop of an instance', async (t) => {
  const service = await startService(t, { 'storage.read_only': 'true' })
  const [started, ...none] = await allEventsOf(service.directory, isOfInstance)
  t.strictSame(none, [])
  const { instance } = started!.meta
  t.equal(started!.stream, `instance-${instance}`)
  t.strictSame(started!.meta.actor, { kind: 'system' })
  const config = await service.request('GET', '/meta/config')
  t.strictSame(started!.data, {
    instance,
    version,
    node: process.version,
    storage: onCluster ? 'cluster' : 'embedded',
    methods: ['token'],
    configDigest: createHash('sha256').update(canonical(config.json)).digest('hex'),
  })
  await service.reopen()
  await service.close()
  const all = await allEventsOf(service.directory)
  t.strictSame(
    all.filter(isOfInstance).map(({ type, data }) => [type, data['cause']]),
    [
      ['InstanceStarted', undefined],
      ['InstanceStopped', 'signal'],
      ['InstanceStarted', undefined],
      ['InstanceStopped', 'signal'],
    ],
  )
  const ofFirst = all.filter(({ meta }) => meta.instance === instance && meta.command !== 'Leave')
  t.equal(ofFirst.at(-1)!.type, 'InstanceStopped', 'it is the last event of the instance but for its membership')
  t.equal(all.find(({ type }) => type === 'InstanceStopped')!.stream, `instance-${instance}`)
})

/** Presence of an instance whose log answers commands as given, with the commands and the log lines. */
const presence = (answer: () => Promise<unknown>) => {
  const { config } = loadConfig({ env: {} })
  const clock = virtualClock()
  const [commands, lines]: [string[], string[]] = [[], []]
  const execute = (_: unknown, __: string, name: string, { cause = '' }: { readonly cause?: string }) => {
    commands.push(`${name} ${cause}`.trim())
    return answer()
  }
  const core = { instance: 'i-1', clock, execute, follower: { seen: async () => true } }
  const logger = { warn: (_: object, message: string) => lines.push(message) }
  const { start, stop } = presenceOf(config, core as never, aboutOf(config), logger as never)
  return { start, stop, clock, commands, lines }
}

await t.test('if the log refuses the record of a start, that is logged and the start continues', async (t) => {
  const { start, stop, commands, lines } = presence(() => Promise.reject(new Error('full')))
  await start()
  await stop('error')
  t.strictSame(commands, ['RecordStart', 'RecordStop error'])
  t.match(lines, [/start of this instance/, /stop of this instance/])
})

await t.test('an instance waits at most one second for the record of its start or stop', async (t) => {
  const { start, clock, lines } = presence(() => new Promise(() => undefined))
  let isOver = false
  const starting = start().then(() => (isOver = true))
  await clock.advance(999)
  t.notOk(isOver)
  await clock.advance(1)
  await starting
  t.equal(lines.length, 1)
})

await t.test('an instance that has not started records no stop', async (t) => {
  const { stop, commands } = presence(async () => ({ stored: [] }))
  await stop('error')
  t.strictSame(commands, [])
})
