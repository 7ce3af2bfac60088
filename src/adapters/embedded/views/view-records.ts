import type { Clock } from '../../../base/clock.ts'
import type { RecordOf, Views } from '../../../projections/views.ts'
import { type Database, rowsOf, type whileOpen } from '../sqlite.ts'
import type { Channel } from '../writer/channel.ts'

/** Small records with compare-and-set, in the file of the log. */
export const embeddedRecords = (
  channel: Channel,
  events: Database,
  clock: Clock,
  reading: ReturnType<typeof whileOpen>,
): Pick<Views, 'record' | 'records' | 'swapRecord'> => {
  const recordOf = rowsOf(events, 'select revision, value from records where kind = ? and key = ? and until > ?')
  const find = <V>(kind: string, key: string): RecordOf<V> | undefined => {
    const found = recordOf.get(kind, key, clock.now().getTime()) as [number, string] | undefined
    return found && { revision: found[0], value: JSON.parse(found[1]) as V }
  }
  return {
    record: async <V>(kind: string, key: string) => reading(() => find<V>(kind, key)),
    records: async <V>(kind: string, keys: readonly string[]) =>
      reading(() => {
        const found = new Map<string, RecordOf<V>>()
        for (const key of keys) {
          const record = find<V>(kind, key)
          if (record) found.set(key, record)
        }
        return found
      }),
    swapRecord: async (kind, key, expected, value, until) =>
      channel.call('swapRecord', kind, key, expected, JSON.stringify(value), until, clock.now().getTime()),
  }
}
