import type { Started } from '../start.ts'
import { maker } from './flags.ts'

type Asks = Pick<Started, 'request'>
/** Expensive request. `turns`: minimum number of yields if each slice has one step. */
type Heavy = readonly [turns: number, why: string, method: string, path: string, body?: unknown]

const LONGEST = 65_536
const N = '/api/v1/namespaces/default'
const BATCH = '/evaluate/v1/batch'
const BULK = '/ofrep/v1/evaluate/flags'
const VARIANTS = `${N}/flags/large/variants`

const times = <T>(count: number, make: (n: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, n) => make(n))
const members = (count: number, value: string) => Object.fromEntries(times(count, (n) => [`k${n}`, value]))

/** Creates the flags and segments of the heavy requests. */
export const makeHeavy = async (service: Asks, flags: number): Promise<void> => {
  const make = maker(service)
  await make.segment('all')
  await make.segment(
    'slow',
    times(100, (n) => ({
      property: 'p',
      operator: 'notcontains',
      value: `${'a'.repeat(36)}${String(n).padStart(4, 'b')}`,
    })),
  )
  await make.boolean('slow')
  await make.bySegment('slow', { segmentKey: 'slow' })
  await make.variantFlag('large')
  const variant = await make.variant('large', 'v', JSON.stringify('x'.repeat(1_000_000)))
  await make.rule('large', { segmentKey: 'all' }, { [variant]: 100 })
  for (let from = 0; from < flags; from += 50)
    await Promise.all(times(50, (n) => make.boolean(`flag-${from + n}`, true)))
}

const value = 'a'.repeat(LONGEST)
const slow = { flagKey: 'slow', entityId: 'e', context: { p: value } }
const just = { flagKey: 'slow', entityId: 'e', context: { p: 'a'.repeat(20_000) } }
const large = (count: number) => ({ requests: times(count, () => ({ flagKey: 'large' })) })

const evaluations = (at: string, flags: number): readonly Heavy[] => [
  [0, 'a value that no constraint finds', 'POST', '/evaluate/v1/boolean', slow],
  [0, 'as much work as there may be', 'POST', '/evaluate/v1/boolean?explain', just],
  [16, 'as much work as a request may be', 'POST', BATCH, { requests: times(16, () => just) }],
  [16, 'more work than a request may be', 'POST', BATCH, { requests: times(60, () => just) }],
  [30, 'answers of a megabyte', 'POST', BATCH, large(1_000)],
  [60, 'thirty answers of a megabyte', 'POST', BATCH, large(30)],
  [30, 'answers of a megabyte', 'POST', '/api/v1/batch-evaluate', large(1_000)],
  [
    30,
    'contexts that are echoed',
    'POST',
    '/api/v1/batch-evaluate',
    { requests: times(63, () => ({ ...slow, flagKey: 'large' })) },
  ],
  [1_000, 'another time', 'POST', `${BATCH}?${at}`, { requests: times(1_000, (n) => ({ flagKey: `flag-${n}` })) }],
  [flags, 'every flag', 'POST', BULK, { context: { targetingKey: 'e', p: value } }],
  [flags, 'a large context', 'POST', BULK, { context: members(1_000, 'v'.repeat(4_000)) }],
  [0, 'more members than there may be', 'POST', BULK, { context: members(49_000, 'v'.repeat(60)) }],
  [
    1_000,
    'as many names as there may be',
    'POST',
    BULK,
    { context: { targetingKey: 'e', flags: times(1_000, (n) => `flag-${n}`).join(',') } },
  ],
  [0, 'more names than there may be', 'POST', BULK, { context: { targetingKey: 'e', flags: 'f,'.repeat(32_768) } }],
]

const lists = (at: string, flags: number): readonly Heavy[] => [
  [5, 'every flag', 'GET', '/internal/v1/evaluation/snapshot/namespace/default'],
  [flags, 'a page', 'GET', `${N}/flags`],
  [5, 'a page of what is searched', 'GET', `${N}/flags?q=flag&limit=1`],
  [flags, 'a page of another time', 'GET', `${N}/flags?${at}&limit=1`],
  [3, 'segments', 'GET', `${N}/segments`],
  [5, 'segments of another time', 'GET', `${N}/segments?${at}`],
  [2, 'tokens of another time', 'GET', `/auth/v1/tokens?${at}`],
  [40, 'metrics', 'GET', '/metrics'],
]

const changes: readonly Heavy[] = [
  [0, 'an attachment', 'POST', VARIANTS, { key: 'w', attachment: `[${'[],'.repeat(340_000)}[]]` }],
  [0, 'an attachment of text', 'POST', VARIANTS, { key: 'x', attachment: JSON.stringify('\n'.repeat(500_000)) }],
  [
    0,
    'as many changes as there may be',
    'POST',
    `${N}/flags/flag-2/changes`,
    { changes: times(200, () => ({ op: 'rollout.create', description: 'd'.repeat(10_000), threshold: {} })) },
  ],
  [
    0,
    'changes and distributions of a large flag',
    'POST',
    `${N}/flags/flag-2/changes`,
    {
      changes: [
        { op: 'variant.create', ref: 'v', key: 'v' },
        {
          op: 'rule.create',
          segmentKey: 'all',
          distributions: times(1_100, () => ({ variantId: 'v', rollout: 0 })),
        },
      ],
    },
  ],
  [
    0,
    'changes with attachments',
    'POST',
    `${N}/flags/flag-3/changes`,
    {
      changes: times(2, (n) => ({
        op: 'variant.create',
        key: `y${n}`,
        attachment: JSON.stringify('x'.repeat(1_000_000)),
      })),
    },
  ],
  [0, 'metadata', 'PUT', `${N}/flags/flag-1`, { name: 'n', metadata: { m: times(32_000, () => 1) } }],
  [
    0,
    'a list of texts',
    'POST',
    `${N}/segments/all/constraints`,
    { type: 1, property: 'p', operator: 'isoneof', value: `[${'"",'.repeat(20_000)}""]` },
  ],
]

/** Heavy requests, reads before writes. `at`: moment of past reads; `flags`: number of flags. */
export const heavyRequests = (at: Date, flags: number): readonly Heavy[] => {
  const past = `at=${at.toISOString()}`
  return [...evaluations(past, flags), ...lists(past, flags), ...changes]
}
