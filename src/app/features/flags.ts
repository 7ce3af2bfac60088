import { randomUUID } from 'node:crypto'
import { reservations } from '../../commands/reservations.ts'
import { pageTokens } from '../../http/lists/paging.ts'
import { type FlagStreams, flagStreams as openStreams } from '../../http/streams/flag-streams.ts'
import { lastUses } from '../../jobs/last-uses.ts'
import type { Core } from '../core/core.ts'

/** Creates the streams about flags, with their metrics (api.md §11.1). */
const flagStreamsOf = ({ config, clock, metrics, flagStore, fresh, onError }: Core): FlagStreams => {
  const { max: most, per_credential: perCredential, per_address: perAddress } = config.server.streams
  const open = openStreams({
    clock,
    limits: { most, perCredential, perAddress },
    fresh,
    onError: onError('streams about flags are closed, because the state of the flags cannot be sent'),
  })
  flagStore.subscribe(open.changed)
  const each = (value: (counts: FlagStreams['counts']['events']) => number) => () =>
    Object.entries(open.counts).map(([kind, counts]) => ({ labels: [kind], value: value(counts) }))
  const labels = ['kind']
  metrics.gauge(
    'streams_open',
    'Open streams about flags: events of OFREP, and snapshots.',
    labels,
    each(({ open }) => open),
  )
  metrics.gauge('streams_limit', 'Maximum number of open streams about flags.', [], () => most)
  metrics.count(
    'streams_sent_total',
    'Events and snapshots sent to streams.',
    labels,
    each(({ sent }) => sent),
  )
  metrics.count(
    'streams_slow_total',
    'Streams closed because the client did not read what was sent.',
    labels,
    each(({ slow }) => slow),
  )
  return open
}

/** Flags: commands that reserve references, dry runs, last evaluations and streams. */
export const flagsOf = (core: Core) => {
  const { clock, views, execute, rehearse, foldOf, stores, onError } = core
  const flagStreams = flagStreamsOf(core)
  const evaluations = lastUses({
    table: 'flag-uses',
    views,
    clock,
    onError: onError('the times at which flags were last evaluated cannot be stored'),
  })
  return {
    services: {
      flagStreams,
      evaluations,
      pageTokens: pageTokens(stores.pepper.key),
      reservations: reservations(execute, foldOf, randomUUID, clock.now),
      rehearsal: { execute: rehearse, reservations: reservations(rehearse, foldOf, randomUUID, clock.now) },
    },
    drain: flagStreams.end,
    close: evaluations.close,
  }
}
