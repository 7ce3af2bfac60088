import type fc from 'fast-check'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { flag } from '../../src/commands/flag/flag.ts'
import { usesOf } from '../../src/commands/flag/state.ts'
import { namespace } from '../../src/commands/namespace.ts'
import { type Reservations, reservations } from '../../src/commands/reservations.ts'
import { segment } from '../../src/commands/segment.ts'
import { FORMAT } from '../../src/events/catalog.ts'
import type { EventLog, Stored } from '../../src/events/log.ts'
import type { Sealer } from '../../src/events/personal.ts'
import { memoryLog } from '../memory-log.ts'
import { namespaceCreated, ofFlag } from '../samples.ts'
import { stateOf } from '../state-of.ts'

const open: Sealer = { seal: async (_, text) => text, open: async (text) => ({ text }) }

/** Write side of one instance on a log, with its own clock and ids. */
export const instance = (log: EventLog, name = 'one', now: () => Date = () => new Date('2026-01-01T00:00:00.000Z')) => {
  let minted = 0
  const { execute, foldOf } = executor(log, enveloper(open, name, now), {
    clock: { sleep: async () => undefined },
    format: FORMAT,
  })
  return { execute, reservations: reservations(execute, foldOf, () => `${name}-reservation-${++minted}`, now) }
}

export const context = { actor: { kind: 'system' } } as const

/** A log whose operations are ordered by fast-check while `together` runs. */
export const scheduledLog = (scheduler: fc.Scheduler) => {
  let racing = false
  const log = memoryLog({ pause: (what) => (racing ? scheduler.schedule(Promise.resolve(), what) : Promise.resolve()) })
  return {
    log,
    together: async <T>(racers: readonly (() => Promise<T>)[]): Promise<PromiseSettledResult<T>[]> => {
      racing = true
      const results = await scheduler.waitFor(Promise.allSettled(racers.map((racer) => racer())))
      racing = false
      return results
    },
  }
}

/** A log with namespace `ns` in its first incarnation, segments `s` and `q`, and flag `f`. */
export const begin = async (log: EventLog) => {
  const { execute, reservations } = instance(log, 'zero')
  await execute(namespace, 'ns', 'CreateNamespace', namespaceCreated.data, context)
  for (const key of ['s', 'q']) await reservations.createSegment(segmentAsk(key), context)
  await reservations.createFlag(flagAsk('f'), context)
}

export const segmentAsk = (key: string) =>
  ({ namespace: 'ns', key, name: key, description: '', matchType: 'all' }) as const
export const flagAsk = (key: string) =>
  ({ namespace: 'ns', key, name: key, description: '', enabled: true, type: 'boolean', metadata: {} }) as const
export const ruleAsk = (id: string, ...segments: string[]) => ({ ...ofFlag, id, segments, operator: 'or' }) as const
export const rolloutAsk = (id: string, ...segments: string[]) =>
  ({ ...ofFlag, id, description: '', part: { type: 'segment', segments, operator: 'or', value: true } }) as const

/** Replaces the rule `r0` with a rule and a rollout for each of the segments. */
export const changesAsk = (...segments: string[]): Parameters<Reservations['changeFlag']>[0] => ({
  ...ofFlag,
  changes: [
    ...segments.flatMap((segment) => [
      { op: 'AddRule', id: `rule-${segment}`, segments: [segment], operator: 'or', distributions: [] } as const,
      {
        op: 'AddRollout',
        id: `rollout-${segment}`,
        description: '',
        part: { type: 'segment', segments: [segment], operator: 'or', value: true },
      } as const,
    ]),
    { op: 'RemoveRule', id: 'r0' },
  ],
})

/** Violated invariants of the final state; empty if there are none. */
export const complaints = async (log: EventLog & { readonly all: readonly Stored[] }): Promise<string[]> => {
  const found: string[] = []
  const home = await stateOf(log, namespace, 'ns')
  const streams = [...new Set(log.all.map(({ stream }) => stream))].filter((stream) => stream.startsWith('flag-'))
  for (const id of streams.map((stream) => stream.slice('flag-'.length))) {
    const state = await stateOf(log, flag, id)
    if (state.incarnation === undefined || state.incarnation !== home.incarnation) continue
    if (!home.reservations.has(state.reservation!))
      found.push(`flag ${id} lives without a reservation on its namespace`)
    for (const use of usesOf(state)) {
      const used = await stateOf(log, segment, `ns+${use.segment}`)
      if (used.incarnation !== state.incarnation) found.push(`flag ${id} uses the missing segment ${use.segment}`)
      else if (!used.reservations.has(use.reservation))
        found.push(`flag ${id} uses ${use.segment} without a reservation`)
    }
  }
  const latest = new Map<string, number>()
  for (const { type, data, stream } of log.all) {
    if (type === 'FlagCreated') {
      const { generation } = JSON.parse(data) as { generation: number }
      if (generation < (latest.get(stream) ?? 0)) found.push(`${stream} was replaced by a flag of an earlier life`)
      latest.set(stream, generation)
    }
    if (type !== 'NamespaceDeleted') continue
    const { incarnation, force } = JSON.parse(data) as { incarnation: string; force: boolean }
    const lives = log.all.filter(
      (event) => /^Flag(Created|Deleted)$/.test(event.type) && event.data.includes(`"${incarnation}"`),
    )
    const last = new Map(lives.map((event) => [event.stream, event.type]))
    if (!force && [...last.values()].includes('FlagCreated')) found.push(`a flag of ${incarnation} went without force`)
  }
  return found
}
