import { randomUUID } from 'node:crypto'
import type { Stored } from '../../src/events/log.ts'
import { METHODS } from '../../src/events/token.ts'
import { eventIndex } from '../../src/history/event-index/projection.ts'
import { history } from '../../src/history/history.ts'
import { START } from '../../src/projections/engine/checkpoints.ts'
import { logMarks } from '../../src/projections/history/log-marks.ts'
import type { Row, View } from '../../src/projections/views.ts'

const key = new Uint8Array(32)

/** Log in an array, with its marks and its index, and the history over all of them. */
export const eventLog = () => {
  const all: Stored[] = []
  const revisions = new Map<string, bigint>()
  const projections = [logMarks(key), eventIndex(key)]
  const [rows, indexRows] = projections.map(() => new Map<string, Row>()) as [Map<string, Row>, Map<string, Row>]
  const rowsOf = ({ name }: Pick<View, 'name'>) => (name === projections[0]!.name ? rows : indexRows)
  const damages: string[] = []
  let checkpoint = START
  let read = 0

  /** First index after a position. */
  const after = (position: bigint) => Number(position / 10n)
  let atPosition = (position: bigint): Stored | undefined =>
    position > 0n && position % 10n === 0n ? all[Number(position / 10n) - 1] : undefined
  const log = {
    readAll: async function* (from: bigint, to = BigInt(all.length * 10)) {
      const events = all.slice(after(from), after(to))
      for (let n = 0; n < events.length; n += 100) {
        const page = events.slice(n, n + 100)
        read += page.length
        yield page
      }
    },
    head: async () => BigInt(all.length * 10),
    first: async () => all[0],
    at: async (position: bigint) => {
      read++
      return atPosition(position)
    },
    read: () => {
      throw new Error('reads no stream')
    },
  }
  const counted = () => ({ position: BigInt(all.length * 10), events: all.length })
  return {
    all,
    rows,
    indexRows,
    /** Parts of the index that were found damaged. */
    damages,
    /** Replaces the reading of single events. */
    readAt: (read: typeof atPosition) => void (atPosition = read),
    /** Number of events read so far. */
    read: () => read,
    append: (event: Pick<Stored, 'stream' | 'type' | 'time' | 'data' | 'meta'>) => {
      const revision = (revisions.get(event.stream) ?? -1n) + 1n
      revisions.set(event.stream, revision)
      all.push({ ...event, id: randomUUID(), revision, position: BigInt(all.length + 1) * 10n })
    },
    /** Writes the marks and the index of all events, in pages. */
    project: async (pageSize = 1000) => {
      while (checkpoint.events < all.length) {
        const page = all.slice(checkpoint.events, checkpoint.events + pageSize)
        for (const projection of projections) {
          const own = rowsOf(projection)
          const find = async <D extends object>(keys: readonly string[]) =>
            keys.flatMap((one) => own.get(one) ?? []) as Row<D>[]
          for (const row of await projection.rowsOf({ log, find }, checkpoint, page)) own.set(row.key, row)
        }
        checkpoint = { ...checkpoint, position: page.at(-1)!.position, events: checkpoint.events + page.length }
      }
    },
    history: history({
      log,
      views: {
        getMany: async <D extends object>(view: View, keys: readonly string[]) =>
          keys.flatMap((one) => rowsOf(view).get(one) ?? []) as Row<D>[],
      },
      key,
      seen: async () => true,
      counted,
      onDamage: (what) => damages.push(what),
    }),
  }
}

/** Random numbers of a seed (mulberry32). */
export const randomOf = (seed: number) => {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (most: number) => Math.floor(next() * most)
  return {
    below,
    chance: (share: number) => next() < share,
    of: <T>(items: readonly T[]): T => items[below(items.length)]!,
  }
}
export type Random = ReturnType<typeof randomOf>

const SPACES = ['default', 'shop', 'a+b'.slice(0, 1), 'prod']
const FLAGS = ['checkout', 'search', 'beta', 'dark']
const TOKENS = Array.from({ length: 12 }, () => randomUUID())
const START_MS = Date.UTC(2026, 0, 1)

const actorOf = ({ of }: Random) =>
  of([
    { kind: 'token', id: of(TOKENS), method: of(METHODS) },
    { kind: 'anonymous' },
    { kind: 'system' },
    { kind: 'operator', user: 'root', host: 'h' },
  ])

const contentOf = (random: Random) => {
  const { of, below } = random
  const [namespace, flag, token] = [of(SPACES), of(FLAGS), of(TOKENS)]
  return of([
    {
      stream: `flag-${namespace}+${flag}`,
      type: 'FlagUpdated',
      data: { namespace, key: flag, enabled: { from: false, to: true } },
    },
    { stream: `flag-${namespace}+${flag}`, type: of(['FlagCreated', 'FlagDeleted']), data: { namespace, key: flag } },
    { stream: `segment-${namespace}+${flag}`, type: 'SegmentUpdated', data: { namespace, key: flag } },
    { stream: `namespace-${namespace}`, type: of(['NamespaceUpdated', 'FlagRegistered']), data: { key: namespace } },
    {
      stream: `token-${token}`,
      type: of(['TokenIssued', 'TokenIssued.v2']),
      data: { id: token, method: of(METHODS), subject: `person-${below(5)}` },
    },
    { stream: `token-${token}`, type: of(['TokenRevoked', 'TokenExpired']), data: { id: token } },
    {
      stream: `login-${below(9)}`,
      type: 'LoginRefused',
      data: { reason: of(['no_grant', 'state_mismatch']), provider: of(['acme', 'other']) },
    },
    {
      stream: `refusal-2026-01-01+${below(9)}`,
      type: 'AuthenticationRefused',
      data: { reason: 'right_missing', tokenId: token },
    },
    {
      stream: `refusal-2026-01-01+${below(9)}`,
      type: 'AuthenticationRefused',
      data: { reason: 'service_account_token_invalid', serviceAccount: 'a/b' },
    },
    { stream: 'instance-main', type: 'FutureEvent', data: { namespace: 'default' } },
  ])
}

/** A random event. Times mostly grow, by one second for each event. */
export const randomEvent = (random: Random, n: number) => {
  const { of, below, chance } = random
  const { data, ...event } = contentOf(random)
  const requestId = chance(0.7) ? `r-${below(200)}` : undefined
  const meta = {
    schema: 1,
    command: of(['UpdateFlag', 'IssueToken', 'Refuse']),
    actor: actorOf(random),
    instance: 'i-1',
    requestId,
    correlationId: requestId && chance(0.5) ? requestId : `c-${below(50)}`,
    route: chance(0.5) ? of(['/api/v1/x', '/auth/v1/y']) : undefined,
    reason: chance(0.2) ? of(['switch ON for launch', 'cleanup']) : undefined,
    subject: chance(0.2) ? `token-${of(TOKENS)}` : undefined,
  }
  const time = new Date(START_MS + n * 1000 - (chance(0.1) ? below(5000) : 0)).toISOString()
  return { ...event, time, data: JSON.stringify(data), meta: JSON.stringify(meta) }
}

/** A random value that some events have, by filter. */
export const valueFor = (name: string, { of, below }: Random): string =>
  ({
    type: of(['FlagUpdated', 'Token*', '*Refused', '*Revok*', '*', 'TokenIssued', 'FutureEvent']),
    category: of(['flag', 'token', 'login', 'refusal', 'instance']),
    stream: of(['flag-*', 'flag-shop+*', 'token-*', 'instance-main', 'none-*']),
    actor: of(['system', 'token', 'anonymous', of(TOKENS)]),
    tokenId: of(TOKENS),
    subject: `person-${below(6)}`,
    namespaceKey: of(SPACES),
    flagKey: of(FLAGS),
    segmentKey: of(FLAGS),
    method: of([...METHODS]),
    provider: of(['acme', 'other', 'none']),
    outcome: of(['success', 'denied', 'failed']),
    requestId: `r-${below(200)}`,
    correlationId: of([`r-${below(200)}`, `c-${below(50)}`]),
    command: of(['UpdateFlag', 'IssueToken']),
    route: of(['/api/v1/x', '/auth/v1/y']),
  })[name]!
