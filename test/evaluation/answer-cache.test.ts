import t from 'tap'
import { compileFlag } from '../../src/evaluation/compile.ts'
import { flagCounters } from '../../src/http/evaluation/answer-cache.ts'
import { metricsOf, metricsPage } from '../../src/http/metrics/metrics.ts'

const flagOf = (key: string) =>
  compileFlag({ key, type: 'boolean', enabled: false, variants: [], rules: [], rollouts: [] }, () => undefined)
const counters = (most?: number) => flagCounters(metricsOf(metricsPage('m_'), { flagLabels: true }), most)

await t.test('the cached answers of all flags have a bound in bytes together', (t) => {
  const countersOf = counters(100_000)
  const [one, other] = [flagOf('one'), flagOf('other')]
  const asked = (n: number) =>
    countersOf(one, 'ns').boolean({
      enabled: true,
      reason: 'match',
      usedEntity: false,
      segmentKeys: [`${n}${'x'.repeat(10_000)}`],
    })
  const [first, kept] = [asked(0), countersOf(other, 'ns')]
  t.equal(asked(0), first, 'the same answer is created once')
  t.equal(countersOf(other, 'ns'), kept)
  for (let n = 1; n < 5; n++) asked(n)
  t.not(countersOf(other, 'ns'), kept, 'beyond the bound all answers are created again')
  const again = asked(0)
  t.not(again, first)
  t.equal(again.json(), first.json())
  t.equal(again.count, first.count, 'the count goes on')
  t.end()
})

await t.test('a long attachment counts once for each variant', (t) => {
  const countersOf = counters(100_000)
  const flag = flagOf('one')
  const variantAttachment = 'x'.repeat(30_000)
  const before = countersOf(flag, 'ns')
  for (let n = 0; n < 50; n++)
    countersOf(flag, 'ns').variant({
      match: true,
      reason: 'match',
      segmentKeys: [String(n)],
      variantKey: 'v',
      variantAttachment,
    })
  t.equal(countersOf(flag, 'ns'), before)
  t.end()
})
