import t from 'tap'
import { momentOf } from '../../src/cli/options.ts'
import { startService } from '../start.ts'
import { file, inside } from './inside.ts'
import { rollcall } from './service.ts'

await t.test('the command evaluate prints the result of a flag of either type and explains it', async (t) => {
  const service = await startService(t)
  const document = `segments: [{key: ten, name: Ten, constraints: [{type: STRING_COMPARISON_TYPE, property: p, operator: eq, value: "a=b"}]}]
flags:
- {key: on, name: On, type: BOOLEAN_FLAG_TYPE, rollouts: [{segment: {key: ten, value: true}}, {threshold: {percentage: 0}}]}
- key: pick
  name: Pick
  enabled: true
  variants: [{key: v, attachment: {"n": 1}}]
  rules: [{segment: ten, distributions: [{variant: v, rollout: 100}]}]
`
  t.equal((await inside(service, 'import', file(document))).exit, 0)
  const evaluate = (...args: readonly string[]) =>
    rollcall(['evaluate', ...args], { ROLLCALL_TOKEN: service.token, ROLLCALL_ADDRESS: service.url })

  t.match(await evaluate('on', '-n', 'default', '-e', 'x', '-c', 'p=a=b', '-c', 'q='), {
    exit: 0,
    out: /ENABLED +true\nREASON +MATCH\nSEGMENTS +ten\n$/,
  })
  t.equal((await evaluate('on', '-e', 'x', '-o', 'name')).out, 'false\n')
  t.match((await evaluate('pick', '-e', 'x', '-c', 'p=a=b')).out, /MATCH +true\nVARIANT +v\nATTACHMENT +\{"n":1\}\n/)
  t.equal((await evaluate('pick', '-e', 'x', '--field', 'match')).out, 'false')
  const why = await evaluate('on', '-e', 'x', '--explain')
  t.match(
    why.out,
    /STEP +RANK +MATCHED +SEGMENTS +BUCKET +BOUNDS +VARIANT\nrollout +1 +false\nrollout +2 +false +\d+ +0\n$/,
  )
  t.match(JSON.parse((await evaluate('pick', '-e', 'x', '-c', 'p=a=b', '--explain', '-o', 'json')).out), {
    variantKey: 'v',
    trace: [{ kind: 'rule', matched: true, cumulative: [1000], variantKey: 'v' }],
  })
  t.match(await evaluate('nothing', '-e', 'x'), { exit: 4, err: /flag "default\/nothing" not found/ })
  t.equal((await evaluate('on')).exit, 2, 'an entity must be named')
  t.equal((await evaluate('on', '-e', '')).exit, 0, 'be it the empty one')
  t.equal((await evaluate('on', '-e', 'x', '-c', 'p')).exit, 2)
  t.equal((await evaluate('on', '-e', 'x', '--at', '-1d')).exit, 4, 'a day ago there was no such flag')
})

/** Times on days that do not exist, which `Date.parse` moves on. */
const IMPOSSIBLE = ['2026-02-30', '2026-02-29T00:00:00Z', '2026-04-31T10:00:00.5+02:00', '2026-01-01T24:00:00Z']

await t.test('a past moment is given as a time, a day, a time span before now or a position', async (t) => {
  const now = Date.parse('2026-01-02T00:00:00Z')
  const cases = {
    '-1h': '2026-01-01T23:00:00.000Z',
    '-1d12h': '2025-12-31T12:00:00.000Z',
    '2026-01-01': '2026-01-01T00:00:00Z',
    '#12': '12',
    '7': '7',
  }
  for (const [text, moment] of Object.entries(cases)) t.equal(momentOf(text, now), moment)
  t.equal(momentOf('2026-01-01T00:00:00+02:00', now), '2026-01-01T00:00:00+02:00')
  t.equal(momentOf('1234567890', now), '1234567890', 'ten digits are a position')
  for (const text of ['', 'now', '-', '-0s', '1h', '#', '-1', ...IMPOSSIBLE])
    t.throws(() => momentOf(text, now), { message: /--at must be/ })
})
