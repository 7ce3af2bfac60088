import { createInterface } from 'node:readline/promises'
import { fail } from '../failure.ts'

/** A reader that has seen enough (`| head`) is no failure. */
const closed = (error: NodeJS.ErrnoException): never => process.exit(error.code === 'EPIPE' ? 0 : 1)

/** Data, for pipes and files. */
export const print = (text: string): void => {
  if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', closed)
  process.stdout.write(text)
}

/** Messages, for people. */
export const info = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

/** True when standard output is a terminal that wants colour. */
export const hasColour = (): boolean =>
  process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb'

/** A dangerous step goes on with --yes, or with a yes typed at a terminal. */
export const confirm = async (question: string, yes: boolean): Promise<void> => {
  if (yes) return
  if (!process.stdin.isTTY) fail('usage', `${question} Nobody is there to answer.`, 'Say yes beforehand with --yes.')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) fail('failed', 'Nothing was done.')
}

/** Standard input to its end; more than `most` bytes are refused. */
export const readStdinBytes = async (most = Infinity): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size > most) fail('usage', `Standard input holds more than ${most} bytes.`)
  }
  return Buffer.concat(chunks)
}

export const readStdin = async (): Promise<string> => (await readStdinBytes()).toString('utf8')
