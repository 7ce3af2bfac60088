import { createInterface } from 'node:readline/promises'
import type { Readable, Writable } from 'node:stream'
import { fail } from '../../failure.ts'

type Input = Readable & { readonly isTTY?: boolean }
type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number }
type Streams = { readonly stdin: Input; readonly stdout: Output; readonly stderr: Output }

/** What a run of the command line touches of its process. */
export type Terminal = {
  readonly env: NodeJS.ProcessEnv
  readonly streams: Streams
  /** Data, for pipes and files. */
  readonly print: (text: string) => void
  /** Messages, for people. */
  readonly info: (text: string) => void
  /** Standard input to its end; more than `most` bytes are refused. */
  readonly readStdin: (most?: number) => Promise<Buffer>
  /** True when standard output is a terminal that wants colour. */
  readonly hasColour: () => boolean
}

const readAll = async (stdin: Input, most: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stdin) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size > most) fail('usage', `Standard input holds more than ${most} bytes.`)
  }
  return Buffer.concat(chunks)
}

/** Control characters, and those that turn the direction of writing. */
const STEERING = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`

/** A text whose control characters are shown as escapes: a name must not steer the terminal. */
export const escapeControl = (text: string): string => text.replace(STEERING, escaped)

/** The same of several lines: tabs and the ends of lines stay. In JSON the escapes mean what they stand for. */
const escapeLines = (text: string): string =>
  text.replace(STEERING, (sign) => (sign === '\n' || sign === '\t' ? sign : escaped(sign)))

/** Prints data that others wrote: as it is, and on a terminal with its control characters as escapes. */
export const printForeign = ({ streams, print }: Terminal, text: string): void =>
  print(streams.stdout.isTTY === true ? escapeLines(text) : text)

/** A terminal of these streams, each opened when it is first used. */
export const terminalOf = (env: NodeJS.ProcessEnv, streams: Streams): Terminal => ({
  env,
  streams,
  print: (text) => void streams.stdout.write(text),
  info: (text) => void streams.stderr.write(`${streams.stderr.isTTY === true ? escapeLines(text) : text}\n`),
  readStdin: (most = Infinity) => readAll(streams.stdin, most),
  hasColour: () => streams.stdout.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb',
})

/** A reader that has seen enough (`| head`) is no failure. */
const closed = (error: NodeJS.ErrnoException): never => process.exit(error.code === 'EPIPE' ? 0 : 1)

/** The terminal of this process. */
export const processTerminal = (): Terminal =>
  terminalOf(process.env, {
    get stdin() {
      return process.stdin
    },
    get stdout() {
      const { stdout } = process
      if (!stdout.listeners('error').includes(closed)) stdout.on('error', closed)
      return stdout
    },
    get stderr() {
      return process.stderr
    },
  })

/** A dangerous step goes on with --yes, or with a yes typed at a terminal. */
export const confirm = async ({ streams }: Terminal, question: string, yes: boolean): Promise<void> => {
  if (yes) return
  const { stdin: input, stderr: output } = streams
  if (!input.isTTY) fail('usage', `${question} Nobody is there to answer.`, 'Say yes beforehand with --yes.')
  const terminal = createInterface({ input, output })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) fail('failed', 'Nothing was done.')
}
