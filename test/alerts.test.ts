import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { VKEY } from './cli/ledger-server.ts'
import { startStack } from './cluster/stack.ts'
import { has, leaveOut } from './crash/rig.ts'
import { bearer, begin, comeBack, EXCHANGE, everyWay, logIn, OIDC, open } from './http/people.ts'
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

/** Labels that Prometheus adds to every scraped series. It renames an existing one to `exported_…`. */
const ADDED = ['job', 'instance', 'namespace']
const scraped = (label: string) => (ADDED.includes(label) ? `exported_${label}` : label)

type RuleTest = {
  readonly name: string
  readonly input_series?: readonly { readonly series: string }[]
  readonly promql_expr_test: readonly { readonly expr: string; readonly exp_samples?: readonly unknown[] }[]
}
const ruleTests = (parse(read('deploy/alerts.test.yml')) as { tests: readonly RuleTest[] }).tests

const skip = !(await has('promtool')) && 'needs promtool (Debian: apt-get install prometheus)'
/** Runs promtool; returns its output and whether it succeeded. */
const promtool = (args: readonly string[], input = '') => {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: root, encoding: 'utf8', input })
  return { ok: status === 0, said: stdout + stderr }
}

type Labels = ReadonlyMap<string, string>
const labelsOf = (text: string): Labels =>
  new Map([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label!, value!]))
type Found = { readonly kind: string; readonly values: Map<string, Set<string>> }
/** Parses the metrics of a page: kind, and values of each label. */
const metricsOn = (page: string): ReadonlyMap<string, Found> => {
  const found = new Map<string, Found>()
  for (const [, name, kind] of page.matchAll(/^# TYPE (\S+) (\S+)$/gm))
    found.set(name!, { kind: kind!, values: new Map() })
  for (const [, name, labels = ''] of page.matchAll(SERIES)) {
    const { values } = found.get(name!) ?? found.get(baseOf(name!))!
    for (const [label, value] of labelsOf(labels)) values.set(label, (values.get(label) ?? new Set()).add(value))
  }
  return found
}
/** One line of a page. */
const SERIES = /^(\w+)(?:\{(.*)\})? \S+$/gm
/** Metric of a series: a histogram has three kinds of series. */
const baseOf = (series: string) => series.replace(/_(bucket|sum|count)$/, '')

/** Labels that an expression groups by. */
const groupingOf = (expr: string) =>
  [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels]) => labels!.split(/, */))
/** Series that only servers produce. */
const ONLY_ON_SERVERS = /\bwhat\b|eventstoredb|mongodb|redis/
/** Series that only an embedded store produces. */
const ONLY_EMBEDDED = /\bfile\b|_embedded_/

/** Returns the metrics page of a service, on servers if available, after requests of everything that is counted. */
const fullPage = async (t: Test) => {
  const { stack, skip } = await startStack(t)
  if (!stack) leaveOut(t, `the metrics of the servers: ${skip}`)
  const cleanup = 'authentication.methods.token.cleanup'
  const clock = virtualClock(new Date().toISOString())
  const settings = {
    ...stack?.settings,
    'metrics.flag_labels': 'true',
    'history.ledger.witnesses': JSON.stringify([{ url: 'http://127.0.0.1:9', vkey: VKEY }]),
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
  for (const path of ['/auth/v1/tokens', '/auth/v1/self', '/audit/v1/events']) await service.request('GET', path)
  // Jump past the expiry of the token, but less than a detected clock jump.
  clock.jump(120_000)
  await clock.advance(60_000)
  const page = await eventually(async () => {
    const text = await service.metrics()
    const isComplete = metricsOn(text).get('rollcall_cleanup_deleted_total')!.values.size > 0
    return isComplete && text.includes('name="ledger-scrub"') && text
  }, 'the cleanup ends the token, and the scrub is scheduled')
  const isProduced = (expr: string): boolean => !(stack ? ONLY_EMBEDDED : ONLY_ON_SERVERS).test(expr)
  return { page, metrics: metricsOn(page), isProduced }
}

await t.test('the alert rules and the dashboard match the metrics that a running service exports', async (t) => {
  const told = await fullPage(t)

  await t.test('the alert rules and the dashboard use only metrics that the service exports', (t) => {
    const { metrics, isProduced } = told
    /** Returns the metrics in an expression, after checking them against the page. */
    const namedIn = (where: string, expr: string): readonly string[] => {
      const named = [...expr.matchAll(/(?:(rate|increase)\()?\b(rollcall_\w+)/g)].map(([, over, series]) => {
        const found = metrics.get(series!) ?? metrics.get(baseOf(series!))
        if (!found) t.fail(`${where}: there is no metric ${series}`)
        const grows = found !== undefined && found.kind !== 'gauge' && series !== 'rollcall_subjects_lost_total'
        t.equal(over !== undefined, grows, `${where}: ${series} is a ${found?.kind}`)
        t.equal(series!.endsWith('_bucket'), expr.includes('histogram_quantile'), `${where}: buckets make quantiles`)
        return metrics.has(series!) ? series! : baseOf(series!)
      })
      const labels = new Set([
        ...ADDED,
        'le',
        ...named.flatMap((name) => [...(metrics.get(name)?.values.keys() ?? [])]),
      ])
      for (const label of groupingOf(expr))
        t.ok(labels.has(label) || !isProduced(label), `${where}: there is a label ${label}`)
      return named
    }

    const alerted = new Set(rules.flatMap(({ alert, expr }) => namedIn(alert, expr)))
    const panelled = new Set(shown.flatMap(([title, expr]) => namedIn(title, expr)))
    for (const { alert, expr, annotations } of rules) {
      const grouping = groupingOf(expr)
      for (const [, label] of JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g))
        t.ok((grouping.length > 0 ? grouping : ADDED).includes(label!), `${alert} has the label ${label}`)
    }

    /** Metrics of activity and size, which need no alert. */
    const onlyShown = ['evaluations_results_total', 'evaluations_latency_milliseconds', 'projection_position']
    onlyShown.push(
      'job_last_duration_seconds',
      'job_last_items',
      'past_reads_running',
      'past_reads_waiting',
      'budget_waiting',
      'tokens_held',
      'history_reads_total',
      'history_streams',
      'streams_sent_total',
      'streams_slow_total',
      'trace_spans_total',
      'subjects_erased_total',
    )
    for (const metric of metrics.keys()) {
      t.ok(panelled.has(metric), `${metric} is on the dashboard`)
      t.equal(alerted.has(metric), !onlyShown.includes(metric.replace('rollcall_', '')), `${metric} has an alert`)
    }
    t.end()
  })

  await t.test('promtool accepts the metrics page, except for one name that docs/api.md fixes', { skip }, (t) => {
    const { said } = promtool(['check', 'metrics'], told.page)
    t.equal(said, 'rollcall_evaluations_latency_milliseconds use base unit "seconds" instead of "milliseconds"\n')
    t.end()
  })

  await t.test('each alert fires as its test states', { skip }, (t) => {
    for (const args of [
      ['check', 'rules', 'deploy/alerts.yml'],
      ['test', 'rules', 'deploy/alerts.test.yml'],
    ]) {
      const { ok, said } = promtool(args)
      t.ok(ok, said)
    }
    const asked = ruleTests.flatMap((test) => test.promql_expr_test)
    for (const { alert } of rules) {
      const ofAlert = asked.filter(({ expr }) => expr === `ALERTS{alertname="${alert}",alertstate="firing"}`)
      t.ok(
        ofAlert.some(({ exp_samples: samples = [] }) => samples.length === 0) && ofAlert.some((one) => one.exp_samples),
        alert,
      )
    }
    for (const { name, input_series: inputs = [] } of ruleTests)
      for (const { series } of inputs) {
        const metric = /^\w+/.exec(series)![0]
        // Prometheus creates this series for its targets.
        if (metric === 'up') continue
        const { values } = told.metrics.get(metric) ?? told.metrics.get(baseOf(metric)) ?? { values: new Map() }
        const labels = [...labelsOf(series)].filter(([label]) => !ADDED.includes(label))
        if (!told.isProduced(series)) continue
        t.same(
          labels.map(([label]) => label).toSorted(),
          [...values.keys()].map(scraped).toSorted(),
          `${name}: ${metric}`,
        )
        // A release has one history format, but the alert concerns two.
        for (const [label, value] of labels)
          if (label !== 'format')
            t.ok(values.get(label.replace('exported_', ''))?.has(value), `${name}: ${label}="${value}"`)
      }
    t.end()
  })

  await t.test('each panel of the dashboard shows metrics that the service exports', { skip }, (t) => {
    const tests = shown
      .filter(([, expr]) => told.isProduced(expr))
      .map(
        ([, expr]) =>
          `count(${expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$(job|namespace)/g, '.*')}) > bool 0`,
      )
    const series = [...told.page.matchAll(SERIES)].map(([, name, labels = '']) => ({
      series: `${name}{${[...[...labelsOf(labels)].map(([label, value]) => `${scraped(label)}="${value}"`), ...ADDED.map((label) => `${label}="x"`)].join()}}`,
      values: (told.metrics.get(name!) ?? told.metrics.get(baseOf(name!)))!.kind === 'gauge' ? '1x9' : '0+1x9',
    }))
    const file = join(t.testdir(), 'panels.json')
    writeFileSync(
      file,
      JSON.stringify({
        tests: [
          {
            interval: '1m',
            input_series: series,
            promql_expr_test: tests.map((expr) => ({
              expr,
              eval_time: '9m',
              exp_samples: [{ labels: '{}', value: 1 }],
            })),
          },
        ],
      }),
    )
    const { ok, said } = promtool(['test', 'rules', file])
    t.ok(ok, said)
    t.end()
  })
})

await t.test('every alert has a severity and an action, which names existing alerts', (t) => {
  const names = rules.map(({ alert }) => alert)
  t.equal(new Set(names).size, names.length)
  for (const { alert, labels, annotations } of rules) {
    t.match(alert, /^Rollcall[A-Z]\w+$/)
    t.match(labels.severity, /^(critical|warning|info)$/, alert)
    t.ok(annotations.summary.length > 10 && annotations.action.length > 30, alert)
  }
  const other = new Set(rules.flatMap(({ annotations: { action } }) => action.match(/Rollcall[A-Z]\w+/g) ?? []))
  for (const name of other) t.ok(names.includes(name), `an action names ${name}`)
  t.end()
})

await t.test('the panels of the dashboard do not overlap, and all of its variables are defined', (t) => {
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
