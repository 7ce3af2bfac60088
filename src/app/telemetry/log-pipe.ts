import { constants, fstatSync, openSync, statSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Clock } from '../../clock.ts'

/** So many bytes of lines wait for a reader that has stopped reading. What comes then is lost, and counted. */
export const WAITING_BYTES = 4 * 1_048_576
/** At the end the lines that wait have so long to be read. */
const FLUSH_MS = 1000

/** Where log lines go, one text a call. `flushed` resolves when none waits any more, or when waiting is over. */
export type Lines = { readonly write: (line: string) => void; readonly flushed: () => Promise<void> }

/** The descriptor of a pipe or socket to write to; undefined of everything else, which takes lines at once. A named pipe is opened whether it has a reader or not. */
export const pipeOf = (dest: string | number): number | undefined => {
  if (typeof dest === 'number') {
    const found = fstatSync(dest)
    return found.isFIFO() || found.isSocket() ? dest : undefined
  }
  const isPipe = statSync(dest, { throwIfNoEntry: false })?.isFIFO() === true
  return isPipe ? openSync(dest, constants.O_RDWR | constants.O_NONBLOCK) : undefined
}

const nowhere = (): void => undefined
/** Tells the operator on standard error what the log cannot. Where that is gone too, nobody can be told. */
export const complain = (line: string): void => {
  const { stderr } = process
  if (!stderr.listeners('error').includes(nowhere)) stderr.on('error', nowhere)
  stderr.write(`${line}\n`)
}

/** Lines to a pipe, which nobody waits for. `missed` is told how many were lost once the reader reads again, `failed` why no more can be written. */
export const linesToPipe = (
  fd: number,
  { after }: Pick<Clock, 'after'>,
  listeners: { readonly missed: (lines: number) => void; readonly failed: (error: Error) => void },
): Lines => {
  const pipe = new Socket({ fd, readable: false, writable: true })
  let lost = 0
  pipe.on('error', listeners.failed)
  pipe.on('drain', () => {
    const lines = lost
    lost = 0
    if (lines > 0) listeners.missed(lines)
  })
  return {
    write: (line) => {
      if (pipe.destroyed) return
      // Until the loss is told no line follows it: the log says where it has a gap.
      if (lost > 0 || pipe.writableLength + Buffer.byteLength(line) > WAITING_BYTES) lost++
      else pipe.write(line)
    },
    flushed: () =>
      new Promise((done) => {
        if (pipe.destroyed || pipe.writableLength === 0) return done()
        const late = after(FLUSH_MS, () => {
          pipe.destroy()
          done()
        })
        pipe.write('', () => {
          late.cancel()
          done()
        })
      }),
  }
}
