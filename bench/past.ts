import type { Config } from '../src/config/load.ts'
import { onFilled } from './filled.ts'
import { evaluation } from './http.ts'
import { p99AtRate } from './load.ts'
import { tokenIssued } from './log-store.ts'
import { progress, type Row, row, times } from './measure.ts'
import { fillPast, type Moments, type Sizes } from './past-data.ts'
import { offFirstCore, type Server } from './processes.ts'

/** Events in all, of which a tenth changes one flag, a tenth a thousandth as many flags, and the others issue tokens; the targets are those of 1,000,000. */
const EVENTS = Number(process.env['ROLLCALL_BENCH_PAST'] ?? 100_000)
const SIZES: Sizes = {
  flags: Math.max(2, Math.round(EVENTS / 1000)),
  changes: 100,
  most: Math.round(EVENTS / 10),
  tokens: Math.round(EVENTS * 0.4),
}
/** The lines that a list is measured against: fifty for each flag. */
const LINES = SIZES.flags * 50
const ROUNDS = 9
/** Evaluations a second, and for how many seconds. */
const RATE = Number(process.env['ROLLCALL_BENCH_RATE'] ?? 1000)
const SECONDS = 5
const TOKEN = 'bench-of-the-past-with-enough-letters'

const get = async ({ url }: Server, path: string): Promise<void> => {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${TOKEN}` } })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text.slice(0, 200)}`)
}

/** Reads an answer of any length, up to the end or until the signal. */
const readWhole = async ({ url }: Server, path: string, signal: AbortSignal): Promise<void> => {
  try {
    const answer = await fetch(url + path, { headers: { authorization: `Bearer ${TOKEN}` }, signal })
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${(await answer.text()).slice(0, 200)}`)
    for await (const _ of answer.body!);
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

const FLAG = '/api/v1/flags/flag-0'
const FLAGS = '/api/v1/flags?limit=1000'
const TOKENS = '/auth/v1/tokens?limit=25'

/** C9 and C10: readings of the past against the same now, and against JSON.parse. */
const readings = async (server: Server, moments: Moments): Promise<readonly Row[]> => {
  const lines = Array.from({ length: LINES }, () => JSON.stringify(tokenIssued()))
  const took = await times(ROUNDS, {
    flag: () => get(server, `${FLAG}?at=${moments.one}`),
    flagNow: () => get(server, FLAG),
    list: () => get(server, `${FLAGS}&at=${moments.all}`),
    parse: () => {
      for (const line of lines) JSON.parse(line)
    },
    tokens: () => get(server, `${TOKENS}&at=${moments.tokens}`),
    tokensNow: () => get(server, TOKENS),
  })
  const ms = (one: number, other: number) => `${one.toFixed(1)} ms against ${other.toFixed(1)} ms`
  const count = (number: number) => number.toLocaleString('en')
  const { flags, most, tokens } = SIZES
  return [
    row(
      'C9',
      `one flag of ${count(most)} changes at its middle / now`,
      took.flag / took.flagNow,
      { atMost: 20 },
      '',
      ms(took.flag, took.flagNow),
    ),
    row(
      'C9',
      `list of ${count(flags)} flags at a moment / JSON.parse of ${count(LINES)} lines`,
      took.list / took.parse,
      { atMost: 2 },
      '',
      ms(took.list, took.parse),
    ),
    row(
      'C10',
      `token list, 25 of ${count(tokens)}, at a moment / now`,
      took.tokens / took.tokensNow,
      { atMost: 5 },
      '',
      ms(took.tokens, took.tokensNow),
    ),
  ]
}

/** C8: what callers that read without pause do to evaluations at a fixed rate. Each caller reads one path. */
const beside = async (server: Server, what: string, paths: readonly string[]): Promise<Row> => {
  const load = evaluation({ ...server, tokens: [TOKEN] }, '/evaluate/v1/boolean', SIZES.flags)
  const [alone, busy]: [number[], number[]] = [[], []]
  let read = 0
  for (let round = 0; round < 3; round++) {
    alone.push(await p99AtRate(load, RATE, SECONDS))
    const over = new AbortController()
    const callers = paths.map(async (path) => {
      for (; !over.signal.aborted; read++) await readWhole(server, path, over.signal)
    })
    busy.push(await p99AtRate(load, RATE, SECONDS))
    over.abort()
    await Promise.all(callers)
  }
  const [a, b] = [Math.max(1, Math.min(...alone)), Math.min(...busy)]
  const note = `${b} ms, ${a} ms at ${RATE}/s; ${read} readings meanwhile`
  return row('C8', `p99 of evaluations while ${what} / while nobody does`, b / a, { atMost: 1.5 }, '', note)
}

/** C8, C9 and C10: the past, read from a service in a process of its own. */
export const run = () =>
  offFirstCore(async (): Promise<readonly Row[]> => {
    progress(
      `C8, C9, C10: a history of ${SIZES.most} changes of one flag, ${SIZES.flags} flags, ${SIZES.tokens} tokens`,
    )
    const fill = (config: Config) => fillPast(config, SIZES)
    return onFilled(TOKEN, fill, async (server, moments) => [
      await beside(server, '4 callers read the past without pause', [
        `${FLAGS}&at=${moments.all}`,
        `${FLAG}?at=${moments.one}`,
        `${TOKENS}&at=${moments.tokens}`,
        `${FLAG}?at=${moments.one}`,
      ]),
      await beside(server, '4 NDJSON exports run', Array<string>(4).fill('/audit/v1/events?format=ndjson')),
      ...(await readings(server, moments)),
    ])
  })
