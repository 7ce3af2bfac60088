import { createInterface } from 'node:readline/promises'
import type { Readable, Writable } from 'node:stream'
import { escapeLines } from '../../base/control-characters.ts'
import { fail } from '../../base/failure.ts'

type Input = Readable & { readonly isTTY?: boolean }
type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number }
type Streams = { readonly stdin: Input; readonly stdout: Output; readonly stderr: Output }

/** Access of the command line to its process. */
export type Terminal = {
  readonly env: NodeJS.ProcessEnv
  readonly streams: Streams
  /** Prints data, for pipes and files. */
  readonly print: (text: string) => void
  /** Prints messages for people. */
  readonly info: (text: string) => void
  /** Reads standard input to its end; fails after `most` bytes. */
  readonly readStdin: (most?: number) => Promise<Buffer>
  /** True if standard output is a terminal that supports colour. */
  readonly hasColour: () => boolean
}

const readAll = async (stdin: Input, most: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stdin) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size > most) fail('usage', `Standard input contains more than ${most} bytes.`)
  }
  return Buffer.concat(chunks)
}

/** Prints data from other authors unchanged; on a terminal with escaped control characters. */
export const printForeign = ({ streams, print }: Terminal, text: string): void =>
  print(streams.stdout.isTTY === true ? escapeLines(text) : text)

/** Terminal over these streams, each opened on first use. */
export const terminalOf = (env: NodeJS.ProcessEnv, streams: Streams): Terminal => ({
  env,
  streams,
  print: (text) => void streams.stdout.write(text),
  info: (text) => void streams.stderr.write(`${streams.stderr.isTTY === true ? escapeLines(text) : text}\n`),
  readStdin: (most = Infinity) => readAll(streams.stdin, most),
  hasColour: () => streams.stdout.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb',
})

/** Handles a reader that closes the pipe early (`| head`), which is not a failure. */
const closed = (error: NodeJS.ErrnoException): never => process.exit(error.code === 'EPIPE' ? 0 : 1)

/** Terminal of this process. */
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

/** Continues a dangerous step with --yes or after confirmation at the terminal. */
export const confirm = async ({ streams }: Terminal, question: string, yes: boolean): Promise<void> => {
  if (yes) return
  const { stdin: input, stderr: output } = streams
  if (!input.isTTY)
    fail(
      'usage',
      `${question} The command cannot ask for confirmation, because there is no terminal.`,
      'Confirm with --yes.',
    )
  const terminal = createInterface({ input, output })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) fail('failed', 'Nothing is changed.')
}
