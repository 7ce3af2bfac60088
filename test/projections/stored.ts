import type { AnyEvent } from '../../src/events/define.ts'
import type { Stored } from '../../src/events/log.ts'
import { type Projection, project } from '../../src/projections/projection.ts'
import type { Row } from '../../src/projections/views.ts'

/** The time of the nth event, a minute each. */
export const timeOf = (n: number): string => new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString()

/** Events as a log would keep them in one stream. */
export const told = (stream: string, events: readonly AnyEvent[], from = 0): Stored[] =>
  events.map(({ type, data }, n) => ({
    id: `${stream}|${from + n}`,
    type,
    data: JSON.stringify(data),
    meta: '{}',
    time: timeOf(from + n),
    stream,
    revision: BigInt(from + n),
    position: BigInt(from + n + 1) * 10n,
  }))

/** The row of one stream after these events. */
export const rowAfter = <D extends object, E extends AnyEvent>(
  projection: Projection<D, E>,
  stream: string,
  events: readonly NoInfer<E>[],
): Row<D> | undefined =>
  told(stream, events).reduce<Row<D> | undefined>((row, event) => project(projection, row, event), undefined)
