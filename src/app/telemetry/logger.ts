import { type DestinationStream, destination, pino } from 'pino'
import { privateFile } from '../../adapters/embedded/files/private-file.ts'
import type { Clock } from '../../clock.ts'
import type { Config } from '../../config/load.ts'
import { complain, type Lines, linesToPipe, pipeOf, WAITING_BYTES } from './log-pipe.ts'

/** One line a record; the levels are those of the configuration. A secret is never given to it, and what looks like one is cut out. */
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

/** `console` form: time, level, message, then the record's other members, all on one line whatever they hold. */
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

/** Lines to a file or terminal, which takes them at once. What a full disk does not take waits, up to a bound. */
const linesToFile = (dest: string | number, failed: (error: Error) => void, worked: () => void): Lines => {
  const out = destination({ dest, sync: true, maxLength: WAITING_BYTES })
  out.on('write', worked)
  out.on('error', failed)
  return { write: (line) => void out.write(line), flushed: () => Promise.resolve() }
}

/** Where log lines go. When a destination fails, standard error says so once until it works again; the failure goes no further. */
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
 * The service's log, to standard output or the configured file, which is its owner's alone: it may hold the first token.
 * Nothing waits for who reads it, but the end of the service by `flushed`, a moment.
 */
export const loggerOf = ({ level: least, encoding, file }: Config['log'], clock: Pick<Clock, 'now' | 'after'>) => {
  if (file !== undefined) privateFile(file)
  const missed = (lines: number): void => logger.error({ lines }, 'log lines were lost, for nobody read the log')
  const out = linesTo(file ?? process.stdout.fd, clock, missed)
  const options = {
    level: least.toLowerCase(),
    redact,
    base: null,
    formatters: { level: (_label: string, number: number) => ({ level: level(number) }) },
    timestamp: () => `,"time":"${clock.now().toISOString()}"`,
  }
  const logger = pino(options, encoding === 'console' ? consoleLines(out) : out)
  return { logger, flushed: out.flushed }
}
