import type { AnyEvent } from '../../src/events/define.ts'
import type { Stored } from '../../src/events/log.ts'
import { type Projection, project } from '../../src/projections/projection.ts'
import type { Row } from '../../src/projections/views.ts'

/** Time of event n, one minute apart. */
export const timeOf = (n: number): string => new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString()

/** Converts events to stored ones of one stream. */
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

/** Returns the row of a stream after these events. */
export const rowAfter = <D extends object, E extends AnyEvent>(
  projection: Projection<D, E>,
  stream: string,
  events: readonly NoInfer<E>[],
): Row<D> | undefined =>
  told(stream, events).reduce<Row<D> | undefined>((row, event) => project(projection, row, event), undefined)
