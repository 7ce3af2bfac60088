import { constants, fstatSync, openSync, statSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'

/** Maximum bytes of lines that wait for a slow reader. Further log lines are dropped and counted. */
export const WAITING_BYTES = 4 * 1_048_576
/** Timeout in ms for waiting lines, at shutdown. */
const FLUSH_MS = 1000

/**
 * Destination of log lines. `flushed` resolves when no line is waiting, or after the timeout. `reopen` opens the
 * path of a file again.
 */
export type Lines = {
  readonly write: (line: string) => void
  readonly flushed: () => Promise<void>
  readonly reopen?: () => void
}

/**
 * Returns the descriptor if the destination is a pipe or socket; undefined for a file or terminal, which accepts lines
 * immediately. A named pipe is opened with or without a reader.
 */
export const pipeOf = (dest: string | number): number | undefined => {
  if (typeof dest === 'number') {
    const found = fstatSync(dest)
    return found.isFIFO() || found.isSocket() ? dest : undefined
  }
  const isPipe = statSync(dest, { throwIfNoEntry: false })?.isFIFO() === true
  return isPipe ? openSync(dest, constants.O_RDWR | constants.O_NONBLOCK) : undefined
}

const nowhere = (): void => undefined
/** Writes a line to standard error if the log cannot be used. Errors of standard error are ignored. */
export const complain = (line: string): void => {
  const { stderr } = process
  if (!stderr.listeners('error').includes(nowhere)) stderr.on('error', nowhere)
  stderr.write(`${line}\n`)
}

/**
 * Writes lines to a pipe without waiting. `missed` receives the number of dropped lines once the reader continues,
 * `failed` the error after which the pipe cannot be written.
 */
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
      // No line is written after a dropped one before the loss is logged, so that the log shows the gap.
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
