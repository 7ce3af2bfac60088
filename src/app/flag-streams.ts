import type { Config } from '../config/load.ts'
import { type FlagStreams, flagStreams } from '../http/streams/flag-streams.ts'
import type { Core } from './core.ts'

/** Creates the streams about flags, with their metrics (api.md §11.1). */
export const flagStreamsOf = (
  { server: { streams } }: Pick<Config, 'server'>,
  { clock, metrics, flagStore, onError }: Core,
  fresh: () => boolean,
): FlagStreams => {
  const { max: most, per_credential: perCredential, per_address: perAddress } = streams
  const open = flagStreams({
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
  metrics.gauge('streams_limit', 'Maximum number of open streams about flags.', [], () => [{ labels: [], value: most }])
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
