/** A series that an expression asks for: its name, and what it wants of labels. */
export type Selector = {
  readonly metric: string
  readonly matchers: readonly { readonly label: string; readonly value: string }[]
  /** Whether it is asked for over a time. */
  readonly ranged: boolean
  /** The functions and aggregations around it, the innermost first. */
  readonly within: readonly string[]
}
export type Expression = { readonly selectors: readonly Selector[]; readonly grouping: readonly string[] }

const AGGREGATIONS = new Set('sum min max avg count topk'.split(' '))
const OVER_TIME = new Set('rate increase max_over_time min_over_time'.split(' '))
const FUNCTIONS = new Set([...OVER_TIME, 'absent', 'histogram_quantile', 'time', 'clamp_min'])
const BINARY = new Set('+ - * / == != > < >= <= and or unless'.split(' '))
const TOKEN =
  /\s*(?:(\d+(?:ms|[smhdwy])|\$__\w+)|(\d+(?:\.\d+)?)|("(?:[^"\\]|\\.)*")|(\w+)|(=~|!~|==|!=|>=|<=|[-+*/<>=(){}[\],]))/y
type Kind = 'duration' | 'number' | 'text' | 'word' | 'sign'
const KINDS: readonly Kind[] = ['duration', 'number', 'text', 'word', 'sign']

const tokens = (text: string) => {
  const found: { readonly kind: Kind | 'end'; readonly text: string }[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const at = TOKEN.lastIndex
    const match = TOKEN.exec(text)
    if (!match) throw new Error(`not understood from "${text.slice(at)}"`)
    const kind = KINDS.findIndex((_, n) => match[n + 1] !== undefined)
    found.push({ kind: KINDS[kind]!, text: match[kind + 1]! })
  }
  return [...found, { kind: 'end', text: 'the end' } as const]
}

/** Reads an expression of Prometheus in the part of its language that the rules and the dashboard use; throws at everything else. Precedence does not matter to who asks only what is named. */
export const parsePromql = (text: string): Expression => {
  const all = tokens(text)
  const selectors: Selector[] = []
  const grouping: string[] = []
  let at = 0
  const peek = () => all[at]!
  const fail = (wanted: string): never => {
    throw new Error(`${wanted} is wanted, and "${peek().text}" stands there: ${text}`)
  }
  const is = (sign: string) => peek().text === sign && peek().kind !== 'text'
  const take = (sign: string) => (is(sign) ? void at++ : fail(sign))
  const taken = (kind: Kind) => (peek().kind === kind ? all[at++]!.text : fail(`a ${kind}`))
  const listed = <T>(open: string, close: string, one: () => T): T[] => {
    const found: T[] = []
    take(open)
    while (!is(close)) {
      found.push(one())
      if (!is(close)) take(',')
    }
    take(close)
    return found
  }
  const labels = () => grouping.push(...listed('(', ')', () => taken('word')))

  const selector = (metric: string, within: readonly string[]) => {
    const matchers = !is('{')
      ? []
      : listed('{', '}', () => {
          const label = taken('word')
          const sign = ['=', '!=', '=~', '!~'].find(is) ?? fail('a comparison of a label')
          take(sign)
          return { label, value: taken('text').slice(1, -1) }
        })
    const ranged = is('[')
    if (ranged) {
      take('[')
      taken('duration')
      take(']')
    }
    if (is('offset')) {
      take('offset')
      taken('duration')
    }
    selectors.push({ metric, matchers, ranged, within })
  }

  const operand = (within: readonly string[]): void => {
    if (is('(')) {
      take('(')
      expression(within)
      return take(')')
    }
    if (peek().kind === 'number') return void taken('number')
    const word = taken('word')
    if (AGGREGATIONS.has(word)) {
      if (is('by') || is('without')) {
        at++
        labels()
      }
      return void listed('(', ')', () => expression([word, ...within]))
    }
    if (!is('(')) return selector(word, within)
    if (!FUNCTIONS.has(word)) return fail(`a known function instead of ${word}`)
    return void listed('(', ')', () => expression([word, ...within]))
  }
  function expression(within: readonly string[]): void {
    operand(within)
    while (BINARY.has(peek().text)) {
      at++
      if (is('on') || is('ignoring')) {
        at++
        labels()
      }
      operand(within)
    }
  }

  expression([])
  if (peek().kind !== 'end') fail('the end')
  for (const { metric, ranged, within } of selectors)
    if (ranged !== OVER_TIME.has(within[0] ?? ''))
      throw new Error(`${metric} is ${ranged ? '' : 'not '}asked for over a time: ${text}`)
  return { selectors, grouping }
}
