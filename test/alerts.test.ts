import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { startStack } from './cluster/stack.ts'
import { leaveOut } from './crash/rig.ts'
import { begin, bearer, comeBack, everyWay, EXCHANGE, logIn, OIDC, open } from './http/people.ts'
import { type Expression, parsePromql } from './promql.ts'
import { virtualClock } from './virtual-clock.ts'
import { eventually } from './wait.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

type Rule = {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly action: string }
}
const rules = (parse(read('deploy/alerts.yml')) as { groups: readonly { rules: readonly Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
)
type Panel = { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }
type Variable = { readonly name: string; readonly definition?: string }
const dashboard = JSON.parse(read('deploy/dashboard.json')) as {
  panels: readonly Panel[]
  templating: { list: readonly Variable[] }
}
const shown = dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const))

/** Labels that Prometheus adds to all that it scrapes. */
const ADDED = ['job', 'instance', 'namespace']
/** What Prometheus says of its targets itself. */
const OF_PROMETHEUS = 'up'

await t.test('what is no expression is found', (t) => {
  for (const [wrong, why] of [
    ['sum(a', /"\)"|, is wanted/],
    ['rate(a)', /is not asked for over a time/],
    ['a[5m]', /is asked for over a time/],
    ['mean(a)', /a known function/],
    ['a{b="c"', /, is wanted/],
    ['a{b==2}', /a comparison/],
    ['a b', /the end is wanted/],
    ['a > "1', /not understood/],
  ] as const)
    t.throws(() => parsePromql(wrong), why, wrong)
  t.same(parsePromql('max by (c) (rate(a{b="x"}[5m] offset 1d)) > 2 * d'), {
    selectors: [
      { metric: 'a', matchers: [{ label: 'b', value: 'x' }], ranged: true, within: ['rate', 'max'] },
      { metric: 'd', matchers: [], ranged: false, within: [] },
    ],
    grouping: ['c'],
  })
  t.end()
})

type Found = { readonly kind: string; readonly values: Map<string, Set<string>> }
/** The metrics of a page: kind, and the values of each label. */
const metricsOn = (page: string): ReadonlyMap<string, Found> => {
  const found = new Map<string, Found>()
  for (const [, name, kind] of page.matchAll(/^# TYPE (\S+) (\S+)$/gm))
    found.set(name!, { kind: kind!, values: new Map() })
  for (const [, name, labels = ''] of page.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const { values } = found.get(name!) ?? found.get(name!.replace(/_(bucket|sum|count)$/, ''))!
    for (const [, label, value] of labels.matchAll(/(\w+)="([^"]*)"/g))
      values.set(label!, (values.get(label!) ?? new Set()).add(value!))
  }
  return found
}

/** The page of a service that has been asked for everything that is counted, on servers where there are some. */
const fullPage = async (t: Test) => {
  const { stack, skip } = await startStack(t)
  if (!stack) leaveOut(t, `the metrics of the servers: ${skip}`)
  const cleanup = 'authentication.methods.token.cleanup'
  const clock = virtualClock(new Date().toISOString())
  const settings = {
    ...stack?.settings,
    'metrics.flag_labels': 'true',
    [`${cleanup}.interval`]: '1s',
    [`${cleanup}.grace_period`]: '1ms',
  }
  const { service, cluster } = await everyWay(t, settings, { clock })
  const expiresAt = new Date(clock.now().getTime() + 60_000).toISOString()
  t.equal((await service.request('POST', '/auth/v1/method/token', { name: 'ends', expiresAt })).status, 200)
  t.equal((await logIn(service, OIDC)).answer.status, 200)
  const { authorizeUrl, cookie } = await begin(service, OIDC)
  const refused = `state=${authorizeUrl.searchParams.get('state')}&error=access_denied`
  t.equal((await comeBack(service, OIDC, refused, { cookie })).status, 401)
  for (const [token, status] of [
    [await cluster.token(), 200],
    ['no', 401],
  ] as const)
    t.equal((await service.request('POST', EXCHANGE, { service_account_token: token }, open)).status, status)
  t.equal((await service.request('GET', '/auth/v1/tokens', undefined, bearer('no'))).status, 401)
  await service.request('POST', '/api/v1/flags', { key: 'f', name: 'f', type: 'BOOLEAN_FLAG_TYPE' })
  for (const flagKey of ['f', 'g']) await service.request('POST', '/evaluate/v1/boolean', { flagKey, entityId: 'e' })
  for (const path of ['/auth/v1/tokens', '/auth/v1/self']) await service.request('GET', path)
  // Past the end of the token, and not so far that the clock would count as one that jumped.
  clock.jump(120_000)
  const metrics = await eventually(async () => {
    const page = metricsOn(await service.metrics())
    return page.get('rollcall_cleanup_deleted_total')!.values.size > 0 && page
  }, 'cleanup ends the token')
  return { metrics, complete: stack !== undefined }
}

await t.test('what alerts and dashboard ask for is what the service tells', async (t) => {
  const { metrics, complete } = await fullPage(t)
  const baseOf = (metric: string) => (metrics.has(metric) ? metric : metric.replace(/_(bucket|sum|count)$/, ''))

  const checked = (where: string, text: string): Expression => {
    const expression = parsePromql(text)
    const labels = new Set<string>([...ADDED, ...(text.includes('_bucket') ? ['le'] : [])])
    for (const { metric, matchers, within } of expression.selectors) {
      if (metric === OF_PROMETHEUS) continue
      const found = metrics.get(baseOf(metric))
      if (!found) {
        t.fail(`${where}: there is no metric ${metric}`)
        continue
      }
      const grows = found.kind !== 'gauge'
      t.equal(
        within.includes('rate') || within.includes('increase'),
        grows && metric !== 'rollcall_subjects_lost_total',
        `${where}: ${metric} is a ${found.kind}`,
      )
      t.equal(metric.endsWith('_bucket'), within.includes('histogram_quantile'), `${where}: buckets make quantiles`)
      for (const label of found.values.keys()) labels.add(label)
      for (const { label, value } of matchers) {
        if (ADDED.includes(label) || (label === 'what' && !complete)) continue
        t.ok(found.values.get(label)?.has(value), `${where}: ${metric} has ${label}="${value}"`)
      }
    }
    for (const label of expression.grouping)
      t.ok(labels.has(label) || (label === 'what' && !complete), `${where}: there is a label ${label}`)
    return expression
  }

  const named = new Set<string>()
  for (const { alert, expr, annotations } of rules) {
    const { grouping, selectors } = checked(alert, expr)
    for (const { metric } of selectors) named.add(baseOf(metric))
    for (const text of Object.values(annotations))
      for (const [, label] of text.matchAll(/\$labels\.(\w+)/g))
        t.ok((grouping.length > 0 ? grouping : ADDED).includes(label!), `${alert} has the label ${label}`)
  }
  for (const [title, expr] of shown)
    for (const { metric } of checked(title, expr).selectors) named.add(`shown ${baseOf(metric)}`)

  /** What tells what was done and how much there is, and no fault. */
  const onlyShown = ['evaluations_results_total', 'evaluations_latency_milliseconds', 'projection_position']
  onlyShown.push('job_last_duration_seconds', 'job_last_items', 'past_reads_running', 'past_reads_waiting')
  for (const metric of metrics.keys()) {
    t.ok(named.has(`shown ${metric}`), `${metric} is on the dashboard`)
    t.equal(named.has(metric), !onlyShown.includes(metric.replace('rollcall_', '')), `${metric} has an alert`)
  }
})

await t.test('every alert says how bad it is and what to do, and the guide has the same ones', (t) => {
  const names = rules.map(({ alert }) => alert)
  t.equal(new Set(names).size, names.length)
  for (const { alert, labels, annotations } of rules) {
    t.match(alert, /^Rollcall[A-Z]\w+$/)
    t.match(labels.severity, /^(critical|warning|info)$/, alert)
    t.ok(annotations.summary.length > 10 && annotations.action.length > 30, alert)
  }
  const told = [...read('docs/guides/operations.md').matchAll(/^\| `(Rollcall\w+)` \| (\w+) \|/gm)]
  t.same(
    told.map(([, alert, severity]) => [alert, severity]),
    rules.map(({ alert, labels }) => [alert, labels.severity]),
  )
  const other = new Set(rules.flatMap(({ annotations: { action } }) => action.match(/Rollcall[A-Z]\w+/g) ?? []))
  for (const name of other) t.ok(names.includes(name), `an action names ${name}`)
  t.end()
})

await t.test('the dashboard imports: panels apart, on the grid, with variables that are there', (t) => {
  type Placed = { readonly id: number; readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>> }
  const placed = dashboard.panels as unknown as readonly Placed[]
  t.equal(new Set(placed.map(({ id }) => id)).size, placed.length)
  const taken = new Set<string>()
  for (const { id, gridPos: at } of placed) {
    t.ok(at.x >= 0 && at.x + at.w <= 24, `panel ${id}`)
    for (let x = at.x; x < at.x + at.w; x++)
      for (let y = at.y; y < at.y + at.h; y++) {
        if (taken.has(`${x} ${y}`)) t.fail(`panel ${id} lies on another`)
        taken.add(`${x} ${y}`)
      }
  }
  const variables = dashboard.templating.list.map(({ name }) => name)
  for (const [, name] of JSON.stringify(dashboard).matchAll(/\$\{?(?!__)(\w+)/g))
    t.ok(variables.includes(name!), `$${name} is a variable`)
  for (const [title, expr] of shown) t.match(expr, /job=~"\$job", namespace=~"\$namespace"/, title)
  t.end()
})
