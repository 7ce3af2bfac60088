import { randomUUID } from 'node:crypto'
import { createDefaultNamespace } from '../src/app/features/tokens.ts'
import { openStores } from '../src/app/stores/stores.ts'
import { systemClock } from '../src/base/clock.ts'
import { enveloper } from '../src/commands/envelope.ts'
import { executor } from '../src/commands/execute.ts'
import { reservations } from '../src/commands/reservations.ts'
import { segment } from '../src/commands/segment.ts'
import type { Config } from '../src/config/load.ts'
import { sealer } from '../src/events/personal.ts'

const context = { actor: { kind: 'system' } } as const

/** Writes boolean flags (`flag-0`…) into a store, unless it has them from an earlier run, by the service's own commands: each asks three segments of three constraints, then gives half the entities true. */
export const seedFlags = async (config: Config, count: number): Promise<void> => {
  const stores = await openStores(config, systemClock, { onError: (_, error) => console.error(error) })
  const now = () => new Date()
  const { execute, foldOf } = executor(stores.log, enveloper(sealer(stores.keys), 'seed', now), { clock: systemClock })
  const writer = reservations(execute, foldOf, randomUUID, now)
  const keys = ['beta', 'staff', 'region']
  try {
    for await (const _ of stores.log.read(`flag-default+flag-${count - 1}`)) return
    await createDefaultNamespace({ execute, applied: async () => () => undefined })
    let incarnation = ''
    for (const key of keys) {
      const named = { namespace: 'default', key, name: key, description: '' }
      const { state } = await writer.createSegment({ ...named, matchType: 'all' }, context)
      incarnation = state.incarnation!
      for (const property of ['country', 'plan', 'version']) {
        const constraint = {
          id: randomUUID(),
          type: 'string',
          property,
          operator: 'eq',
          value: `${key}-${property}`,
          description: '',
        } as const
        await execute(
          segment,
          `default+${key}`,
          'AddConstraint',
          { namespace: 'default', key, incarnation, constraint },
          context,
        )
      }
    }
    for (let n = 0; n < count; n++) {
      const of = { namespace: 'default', key: `flag-${n}`, incarnation }
      const data = { name: of.key, description: '', enabled: false, type: 'boolean', metadata: {} } as const
      await writer.createFlag({ ...of, ...data }, context)
      const part = { type: 'segment', segments: keys, operator: 'or', value: true } as const
      const half = { type: 'threshold', percentage: 50, value: true } as const
      await writer.addRollout({ ...of, id: randomUUID(), description: '', rank: 0, part }, context)
      await writer.addRollout({ ...of, id: randomUUID(), description: '', rank: 0, part: half }, context)
    }
  } finally {
    await stores.close()
  }
}
