import { accessSync, constants, fstatSync, openSync, statSync } from 'node:fs'
import { Socket } from 'node:net'
import { type DestinationStream, destination, pino } from 'pino'
import { privateFile } from '../../adapters/embedded/files/secret-file.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { LOGGED_TOKENS } from '../../base/token-form.ts'
import type { Config } from '../../config/load.ts'

/** Maximum bytes of lines that wait for a slow reader. Further log lines are dropped and counted. */
const WAITING_BYTES = 4 * 1_048_576
/** Timeout in ms for waiting lines, at shutdown. */
const FLUSH_MS = 1000

/**
 * Destination of log lines. `flushed` resolves when no line is waiting, or after the timeout. `reopen` opens the
 * path of a file again.
 */
type Lines = {
  readonly write: (line: string) => void
  readonly flushed: () => Promise<void>
  readonly reopen?: () => void
}

/**
 * Returns the descriptor if the destination is a pipe or socket; undefined for a file or terminal, which accepts lines
 * immediately. A named pipe is opened with or without a reader.
 */
const pipeOf = (dest: string | number): number | undefined => {
  if (typeof dest === 'number') {
    const found = fstatSync(dest)
    return found.isFIFO() || found.isSocket() ? dest : undefined
  }
  const isPipe = statSync(dest, { throwIfNoEntry: false })?.isFIFO() === true
  return isPipe ? openSync(dest, constants.O_RDWR | constants.O_NONBLOCK) : undefined
}

const nowhere = (): void => undefined
/** Writes a line to standard error if the log cannot be used. Errors of standard error are ignored. */
const complain = (line: string): void => {
  const { stderr } = process
  if (!stderr.listeners('error').includes(nowhere)) stderr.on('error', nowhere)
  stderr.write(`${line}\n`)
}

/**
 * Writes lines to a pipe without waiting. `missed` receives the number of dropped lines once the reader continues,
 * `failed` the error after which the pipe cannot be written.
 */
const linesToPipe = (
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

/**
 * Logger with one line per record, at the configured level. Callers pass no secrets; fields with the names of secrets
 * are removed, and client tokens in a line are replaced.
 */
export type Logger = ReturnType<typeof loggerOf>['logger']

const redact = {
  paths: [
    'token',
    'secret',
    'authorization',
    'cookie',
    '*.token',
    '*.secret',
    '*.authorization',
    '*.cookie',
    'headers',
  ],
  censor: '[removed]',
}

const level = (number: unknown) =>
  ({ 20: 'DEBUG', 30: 'INFO', 40: 'WARN', 50: 'ERROR', 60: 'ERROR' })[Number(number)] ?? 'INFO'

/** Lines in `console` encoding: time, level, message, then the other fields, all on one line. */
const consoleLines = (to: DestinationStream): DestinationStream => ({
  write: (line: string) => {
    const {
      time,
      level: name,
      msg,
      pid: _pid,
      hostname: _hostname,
      ...rest
    } = JSON.parse(line) as Record<string, unknown>
    const text = Object.entries(rest).map(([key, value]) => ` ${key}=${JSON.stringify(value)}`)
    to.write(`${String(time)} ${String(name)} ${JSON.stringify(msg ?? '').slice(1, -1)}${text.join('')}\n`)
  },
})

/** Writes lines synchronously to a file or terminal. Lines that a full disk rejects are buffered up to a maximum. */
const linesToFile = (dest: string | number, failed: (error: Error) => void, worked: () => void): Lines => {
  const out = destination({ dest, sync: true, maxLength: WAITING_BYTES })
  out.on('write', worked)
  out.on('error', failed)
  const reopen = () => {
    if (typeof dest === 'number') return
    privateFile(dest)
    accessSync(dest, constants.W_OK)
    out.reopen()
  }
  return { write: (line) => void out.write(line), flushed: () => Promise.resolve(), reopen }
}

/**
 * Returns the destination of log lines. A failing destination is reported once on standard error until it works again.
 */
const linesTo = (dest: string | number, clock: Pick<Clock, 'after'>, missed: (lines: number) => void): Lines => {
  let reported = false
  const failed = ({ message }: Error): void => {
    if (!reported) complain(`error: the log cannot be written: ${message}`)
    reported = true
  }
  const pipe = pipeOf(dest)
  if (pipe !== undefined) return linesToPipe(pipe, clock, { missed, failed })
  return linesToFile(dest, failed, () => (reported = false))
}

/**
 * Logs to standard output or to the configured file. The file is readable only by its owner, because it may contain the
 * first token. No code waits for the reader, except `flushed` at shutdown, for a limited time. `reopen` opens
 * the path of a file again, because another program renamed the file; it has no effect on a pipe.
 */
export const loggerOf = ({ level: least, encoding, file }: Config['log'], clock: Pick<Clock, 'now' | 'after'>) => {
  if (file !== undefined) privateFile(file)
  const missed = (lines: number): void =>
    logger.error(
      { lines },
      'log lines were lost, because the process that reads the standard output of the service was too slow',
    )
  const out = linesTo(file ?? process.stdout.fd, clock, missed)
  const options = {
    level: least.toLowerCase(),
    redact,
    base: null,
    hooks: { streamWrite: (line: string) => line.replaceAll(LOGGED_TOKENS, '[client token]') },
    formatters: { level: (_label: string, number: number) => ({ level: level(number) }) },
    timestamp: () => `,"time":"${clock.now().toISOString()}"`,
  }
  const logger = pino(options, encoding === 'console' ? consoleLines(out) : out)
  const reopen = (): void => {
    try {
      out.reopen?.()
    } catch (error) {
      logger.error(
        { file, why: messageOf(error) },
        'log.file cannot be opened again; the log continues in the old file',
      )
    }
  }
  return { logger, flushed: out.flushed, reopen }
}
