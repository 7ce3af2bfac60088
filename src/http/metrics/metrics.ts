import { bytesOf } from './metrics-page.ts'

/** Value of one label set of a metric; incrementing it is a plain addition. */
export type Cell = { value: number }
export type HistogramCell = { readonly observe: (value: number) => void }
type Sample = { readonly labels: readonly string[]; readonly value: number }
/** Values of a metric; a number for a metric without labels. */
type Reading = readonly Sample[] | number

const escaped = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
const line = (name: string, names: readonly string[], values: readonly string[], value: number) => {
  const labels = names.map((label, n) => `${label}="${escaped(values[n] ?? '')}"`).join(',')
  return `${name}${labels === '' ? '' : `{${labels}}`} ${Number.isFinite(value) ? value : value > 0 ? '+Inf' : '-Inf'}\n`
}
const head = (name: string, type: string, help: string) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`

/** Maximum label sets of a metric, and their UTF-16 units together; more are counted under `other`. */
const [BOUND, BOUND_SIZE] = [10_000, 4 * 1_048_576]
/** Labels that the page omits. */
type Hidden = ReadonlySet<string>
/** Cells of a metric by label set. */
const cells = <C>(all: readonly string[], hidden: Hidden, make: (labels: readonly string[]) => C) => {
  const known = new Map<string, C>()
  let size = 0
  const labelNames = all.filter((name) => !hidden.has(name))
  const get = (...given: readonly string[]): C => {
    const labels = given.filter((_, n) => !hidden.has(all[n]!))
    const key = labels.join('\0')
    const present = known.get(key)
    if (present !== undefined) return present
    const isShown = known.size < BOUND && size + key.length <= BOUND_SIZE
    const shown = isShown ? labels : labelNames.map(() => 'other')
    if (isShown) size += key.length
    const shownKey = shown.join('\0')
    const cell = known.get(shownKey) ?? make(shown)
    known.set(shownKey, cell)
    return cell
  }
  if (labelNames.length === 0) get()
  return { known, labelNames, get }
}

/** Cell of one label set of a histogram; writes its lines of the page. */
const histogramCell = (
  name: string,
  labelNames: readonly string[],
  labels: readonly string[],
  buckets: readonly number[],
) => {
  const counts = new Float64Array(buckets.length + 1)
  let sum = 0
  return {
    observe: (value: number): void => {
      let n = 0
      while (n < buckets.length && value > buckets[n]!) n++
      counts[n]!++
      sum += value
    },
    text: (): string => {
      let text = ''
      let count = 0
      for (const [n, bound] of [...buckets, Number.POSITIVE_INFINITY].entries()) {
        count += counts[n]!
        const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : String(bound)
        text += line(`${name}_bucket`, [...labelNames, 'le'], [...labels, le], count)
      }
      return text + line(`${name}_sum`, labelNames, labels, sum) + line(`${name}_count`, labelNames, labels, count)
    },
  }
}

/** Prometheus metrics (text format 0.0.4) with plain numbers as cells; the page is written on request. */
export const metricsPage = (prefix: string) => {
  const written: (() => Iterable<string> | Promise<Iterable<string>>)[] = []
  const lines = function* (
    type: string,
    name: string,
    help: string,
    labelNames: readonly string[],
    samples: Iterable<Sample>,
  ) {
    yield head(prefix + name, type, help)
    for (const { labels, value } of samples) yield line(prefix + name, labelNames, labels, value)
  }
  const readLater =
    (type: 'gauge' | 'counter') =>
    (name: string, help: string, labelNames: readonly string[], read: () => Reading | Promise<Reading>): void => {
      written.push(async () => {
        const value = await read()
        return lines(type, name, help, labelNames, typeof value === 'number' ? [{ labels: [], value }] : value)
      })
    }
  return {
    /** A counter. `get` returns the cell of a label set; keep the cell in code with a high call rate. */
    counter: (name: string, help: string, labels: readonly string[] = [], hidden = NOTHING) => {
      const all = cells<Cell & Sample>(labels, hidden, (labels) => ({ labels, value: 0 }))
      written.push(() => lines('counter', name, help, all.labelNames, all.known.values()))
      return all.get as (...labels: readonly string[]) => Cell
    },
    /** A histogram with cumulative buckets. */
    histogram: (
      name: string,
      help: string,
      labels: readonly string[],
      buckets: readonly number[],
      hidden = NOTHING,
    ) => {
      const labelNames = labels.filter((label) => !hidden.has(label))
      const all = cells(labels, hidden, (labels) => histogramCell(prefix + name, labelNames, labels, buckets))
      written.push(function* () {
        yield head(prefix + name, 'histogram', help)
        for (const cell of all.known.values()) yield cell.text()
      })
      return all.get as (...labels: readonly string[]) => HistogramCell
    },
    /** A gauge, read when the page is written. */
    gauge: readLater('gauge'),
    /** Adds a counter whose value a different component counts. It is read when the page is written. */
    count: readLater('counter'),
    /** Writes the current page of metrics. */
    write: async (): Promise<readonly Buffer[]> => bytesOf(await Promise.all(written.map(async (text) => text()))),
  }
}

type Page = ReturnType<typeof metricsPage>

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const MILLISECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 100]

const NOTHING: Hidden = new Set()
/** Labels whose values are names given by users. */
const GIVEN: Hidden = new Set(['namespace', 'flag', 'segment', 'value'])

/** The metrics of api.md §11.1 and of the stores. `flagLabels` includes labels with names of flags and their parts. */
export const metricsOf = (page: Page, { flagLabels }: { readonly flagLabels: boolean }) => {
  const hidden = flagLabels ? NOTHING : GIVEN
  return {
    write: page.write,
    gauge: page.gauge,
    count: page.count,
    evaluations: page.counter('evaluations_requests_total', 'Requested evaluations.', ['namespace', 'flag'], hidden),
    evaluationErrors: page.counter('evaluations_errors_total', 'Refused evaluations.', ['namespace', 'flag'], hidden),
    evaluationResults: page.counter(
      'evaluations_results_total',
      'Evaluations by result.',
      ['namespace', 'flag', 'type', 'match', 'reason', 'segment', 'value'],
      hidden,
    ),
    evaluationLatency: page.histogram(
      'evaluations_latency_milliseconds',
      'Time to evaluate a flag.',
      ['namespace', 'flag'],
      MILLISECONDS,
      hidden,
    ),
    serverErrors: page.counter(
      'server_errors_total',
      'Answers with status 500 or above, and failed logins with such a status whose answer redirected the browser to the login page.',
    ),
    requestDuration: page.histogram(
      'http_request_duration_seconds',
      'Duration of requests.',
      ['route', 'method', 'status'],
      SECONDS,
    ),
    authDecisions: page.counter('auth_decisions_total', 'Checked credentials, by result.', [
      'result',
      'reason',
      'method',
    ]),
    logins: page.counter('logins_total', 'Logins, by result.', ['provider', 'result']),
    exchanges: page.counter('exchanges_total', 'Exchanges of service-account tokens, by result.', ['result']),
    cleaned: page.counter('cleanup_deleted_total', 'Expired tokens that cleanup ended.', ['method']),
    pastReads: page.histogram('past_reads_seconds', 'Waiting and running time of reads of past states.', [], SECONDS),
    pastReadsRefused: page.counter(
      'past_reads_refused_total',
      'Reads of past states refused because there were too many at once.',
    ),
    historyReads: page.counter('history_reads_total', 'Reads of the history of events.', ['route', 'format']),
    replays: page.counter('idempotent_replays_total', 'Answers repeated for an idempotency key.'),
    subjectsLost: page.counter(
      'subjects_lost_total',
      'Subjects of personal data whose key is missing, destroyed or another one without an erasure.',
    ),
    storeCalls: page.counter('store_calls_total', 'Calls of a store, by outcome.', [
      'port',
      'adapter',
      'operation',
      'outcome',
    ]),
    storeCallDuration: page.histogram(
      'store_call_duration_seconds',
      'Duration of the calls of a store.',
      ['port', 'adapter', 'operation'],
      SECONDS,
    ),
  }
}

export type Metrics = ReturnType<typeof metricsOf>
