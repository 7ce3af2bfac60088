import { fstatSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Clock } from '../../base/clock.ts'
import { escapeControl, escapeLines } from '../../base/control-characters.ts'
import { EXIT, fail, isFailure } from '../../base/failure.ts'
import type { HistoryEvent, HistoryEvents } from '../../contract/history/events.ts'
import { ledgerIdIn } from '../../verifier/export/manifest.ts'
import { type Client, splitAt } from '../client/client.ts'
import { pages, pagesOf } from '../client/lists.ts'
import { originOf } from '../ledger/ledger-client.ts'
import { type CommandServices, clientOf, momentOf, type TargetOptions, withTarget } from '../options.ts'
import { abortOn } from '../signals.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { writeWhole } from '../whole-file.ts'
import { actorText, EVENTS } from './event.ts'
import { type FilterOptions, filtersOf, indexIn, withFilters } from './filters.ts'

/** First and longest pause in ms before a new connection, and the silence after which a connection counts as lost. */
const [FIRST_MS, LONGEST_MS, SILENCE_MS] = [250, 30_000, 45_000]

/** A block of the stream: the index up to which the service has examined the events, and the event there, if any. */
type Block = { readonly index: number; readonly json?: string }

const blockOf = (text: string): readonly Block[] => {
  const [, index, json] = /^id: (\d+)(?:\ndata: (.*))?$/.exec(text) ?? []
  return index === undefined ? [] : [{ index: Number(index), ...(json !== undefined && { json }) }]
}

/** Whole blocks of a connection as they arrive. A connection that is silent for too long ends. */
async function* blocksOf(body: ReadableStream<Uint8Array>, { after }: Clock): AsyncGenerator<readonly Block[]> {
  const reader = body.getReader()
  const blocksIn = splitAt('\n\n')
  try {
    for (;;) {
      const silence = after(SILENCE_MS, () => void reader.cancel())
      const { value } = await reader.read().finally(silence.cancel)
      if (!value) return
      yield blocksIn(value).flatMap(blockOf)
    }
  } finally {
    // A broken connection cannot be cancelled, which is no fault.
    await reader.cancel().catch(() => undefined)
  }
}

/** The last index received, if any, and the parameters of the stream. */
type From = { readonly last: number | undefined; readonly query: Readonly<Record<string, string | number | undefined>> }

/**
 * Follows the live stream of events. When a connection ends, the command continues after the last whole block, with an
 * exponential back-off. Ends when `stop` aborts; fails if the service refuses the first connection, or the credential.
 */
async function* followed(
  { open }: Client,
  path: string,
  { last, query }: From,
  clock: Clock,
  stop: AbortSignal,
): AsyncGenerator<readonly Block[]> {
  let [at, pause, isBegun] = [last, FIRST_MS, false]
  while (!stop.aborted) {
    try {
      const headers = { accept: 'text/event-stream', ...(at !== undefined && { 'last-event-id': String(at) }) }
      const { body } = await open(path, { query, headers }, stop)
      isBegun = true
      for await (const blocks of blocksOf(body!, clock)) {
        yield blocks
        if (blocks.length > 0) [at, pause] = [blocks.at(-1)!.index, FIRST_MS]
      }
    } catch (error) {
      // Any other error is the end of a connection.
      if (!stop.aborted && (!isBegun || (isFailure(error) && error.kind !== 'unavailable'))) throw error
    }
    await clock.sleep(pause, stop)
    pause = Math.min(2 * pause, LONGEST_MS)
  }
}

const PAGE = 1000
const LINES = 10

type TailOptions = TargetOptions &
  FilterOptions & {
    readonly follow?: boolean
    readonly lines?: number
    readonly from?: string
    readonly format: 'text' | 'ndjson' | 'cloudevents' | 'ocsf'
    readonly cursor?: string
  }

type Query = Readonly<Record<string, string | number | undefined>>

/** Beginning of the output: events to print first, parameters of the range after them, and its last index before. */
type Start = { readonly shown: readonly HistoryEvent[]; readonly range: Query; readonly last?: number }

/** Range of the events from a moment on: `@` index, `#` position, or an instant. */
const rangeFrom = (moment: string, now: number): Query => {
  const index = indexIn(moment)
  if (index !== undefined) return { afterIndex: index - 1 }
  const at = momentOf(moment, now, '--from')
  if (!/^\d+$/.test(at)) return { from: at }
  const position = BigInt(at)
  return position > 0n ? { after: String(position - 1n) } : { afterIndex: -1 }
}

/** The newest events that pass, oldest first, and the index of the newest event of the log. */
const newest = async (client: Client, filters: Query, lines: number): Promise<Start> => {
  const found: HistoryEvent[] = []
  const query = { ...filters, order: 'desc', limit: Math.min(PAGE, Math.max(1, lines)) }
  let last = -1
  for await (const page of pages<HistoryEvents>(client, EVENTS, query)) {
    if (found.length === 0) last = page.head?.index ?? -1
    found.push(...page.events)
    if (found.length >= lines) break
  }
  return { shown: found.slice(0, lines).reverse(), range: { afterIndex: last }, last }
}

/** Index of the last event that was taken; undefined if there is no file yet. */
const readCursor = async (file: string): Promise<number | undefined> => {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? undefined : fail('usage', `The file of --cursor cannot be read (${code}).`)
  })
  if (text === undefined) return undefined
  return /^(?:-1|\d{1,15})$/.test(text.trim())
    ? Number(text)
    : fail('usage', 'The file of --cursor does not contain the index of an event.')
}

const startOf = async (
  { from, lines = LINES }: TailOptions,
  noted: number | undefined,
  client: Client,
  filters: Query,
  now: number,
): Promise<Start> => {
  if (noted !== undefined) return { shown: [], range: { afterIndex: noted }, last: noted }
  return from === undefined ? newest(client, filters, lines) : { shown: [], range: rangeFrom(from, now) }
}

const textLine = (event: HistoryEvent): string =>
  [event.time, actorText(event), event.summary, `#${event.position}`].map(escapeControl).join('  ')

/** Form of one printed event, made from its JSON text; undefined for an event that the form leaves out. */
type LineForm = (json: string) => string | undefined

const lineForm = async (format: TailOptions['format'], client: Client): Promise<LineForm> => {
  if (format === 'ndjson') return (json) => json
  if (format === 'text') return (json) => textLine(JSON.parse(json) as HistoryEvent)
  const origin = await originOf(client)
  const { cloudEventOf, ocsfEventOf } = await import('../../history/shown-event.ts')
  if (format === 'ocsf') return (json) => ocsfEventOf(JSON.parse(json) as HistoryEvent, origin)
  const ledger = ledgerIdIn(origin)
  return (json) => cloudEventOf(JSON.parse(json) as HistoryEvent, ledger)
}

/** Capacity of a pipe with the bytes that a reader takes at once, and the same for a socket. */
const [PIPE_BYTES, SOCKET_BYTES] = [131_072, 262_144]

/** Maximum number of written bytes that a reader may have lost when it dies; 0 for a file or terminal. */
const unreadBytes = ({ streams }: Terminal): number => {
  const { fd } = streams.stdout as { readonly fd?: number }
  const found = fd === undefined ? undefined : fstatSync(fd)
  return found?.isFIFO() ? PIPE_BYTES : found?.isSocket() ? SOCKET_BYTES : 0
}

/**
 * Notes in the file of the cursor the last event that the reader of the output must have taken, so that the next run
 * prints each event that a reader lost when it died. The first note is the event before the first printed one.
 */
const cursorOf = (terminal: Terminal, file: string, last: number | undefined) => {
  const unread = unreadBytes(terminal)
  let [noted, bytes] = [last, 0]
  /** Printed events that the reader may not have taken, with the number of bytes at the end of each. */
  let waiting: { readonly index: number; readonly end: number }[] = []
  const note = async (index: number): Promise<void> => {
    if (index === noted) return
    noted = index
    await writeWhole(file, `${index}\n`)
  }
  return {
    begin: async (index: number): Promise<void> => {
      if (noted === undefined) await note(index)
    },
    add: (index: number, length: number): void => {
      bytes += length
      waiting.push({ index, end: bytes })
    },
    move: async (): Promise<void> => {
      const taken = waiting.filter(({ end }) => end <= bytes - unread)
      waiting = waiting.slice(taken.length)
      if (taken.length > 0) await note(taken.at(-1)!.index)
    },
  }
}

/** Prints events, and moves the cursor. Resolves when both are done. */
const printer =
  (terminal: Terminal, cursor: ReturnType<typeof cursorOf> | undefined, line: LineForm) =>
  async (events: readonly { readonly index: number; readonly json: string }[]): Promise<void> => {
    if (events.length === 0) return
    await cursor?.begin(events[0]!.index - 1)
    const lines: string[] = []
    for (const { index, json } of events) {
      const text = line(json)
      const printed = text === undefined ? '' : escapeLines(`${text}\n`)
      lines.push(printed)
      cursor?.add(index, Buffer.byteLength(printed))
    }
    if (lines.length > 0) terminal.print(lines.join(''))
    await new Promise<void>((flushed) => void terminal.streams.stdout.write('', () => flushed()))
    await cursor?.move()
  }

const jsonOf = (event: HistoryEvent) => ({ index: event.index, json: JSON.stringify(event) })

const tail = async (options: TailOptions, given: CommandServices): Promise<void> => {
  const { terminal, clock, endWith } = given
  const { signal, release } = abortOn('SIGINT')
  try {
    const client = await clientOf(options, given)
    const filters = filtersOf(options)
    const { cursor: file } = options
    const noted = file === undefined ? undefined : await readCursor(file)
    const { shown, range, last } = await startOf(options, noted, client, filters, clock.now().getTime())
    const cursor = file === undefined ? undefined : cursorOf(terminal, file, noted)
    const print = printer(terminal, cursor, await lineForm(options.format, client))
    if (last !== undefined) await cursor?.begin(shown[0] ? shown[0].index - 1 : last)
    await print(shown.map(jsonOf))
    if (options.follow) {
      const query = { ...filters, ...(last === undefined && range) }
      for await (const blocks of followed(client, EVENTS, { last, query }, clock, signal))
        await print(blocks.flatMap(({ index, json }) => (json === undefined ? [] : [{ index, json }])))
    } else {
      const query = { ...filters, ...range, limit: PAGE }
      const ofPage = (pageToken: string) => client.ask<HistoryEvents>('GET', EVENTS, { query: { ...query, pageToken } })
      for await (const page of pagesOf(ofPage)) {
        if (last !== undefined && last > (page.head?.index ?? -1))
          fail(
            'failed',
            `The history ends before index ${last}, but an earlier run of this command printed the event with this index.`,
          )
        await print(page.events.map(jsonOf))
        if (signal.aborted) break
      }
    }
    if (signal.aborted) endWith(EXIT.interrupted)
  } finally {
    release()
  }
}

const lineCount = (text: string): number => {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('Expected an integer of at least 0.')
  return Number(text)
}

/** `rollcall events tail`: prints the newest events and follows those to come. */
export const addTail = (events: Command, given: CommandServices): void => {
  withFilters(withTarget(events.command('tail'), given))
    .summary('print the newest events, and with -f each new event')
    .description(
      `Prints the last events that match all filters; with -f also each new one, until interrupted. A lost connection
continues behind the last event. Exit code 5 when the credential ends.`,
    )
    .option('-f, --follow', 'follow the events as they happen')
    .addOption(
      new Option('-n, --lines <n>', `number of existing events to print first (default: ${LINES})`)
        .argParser(lineCount)
        .conflicts('from'),
    )
    .option('--from <moment>', 'from this moment on: an RFC 3339 instant, a day, -1h, #position or @index')
    .addOption(
      new Option('--format <format>', 'format of a line')
        .choices(['text', 'ndjson', 'cloudevents', 'ocsf'])
        .default('text'),
    )
    .option(
      '--cursor <file>',
      'file in which the command stores the index of an event that its reader has taken; the next run continues after it',
    )
    .action((options: TailOptions) => tail(options, given))
}
