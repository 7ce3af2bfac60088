import { writeSync } from 'node:fs'
import { privateFile } from '../adapters/embedded/private-file.ts'
import type { Clock } from '../clock.ts'
import { type DestinationStream, destination, pino } from 'pino'
import type { Config } from '../config/load.ts'

/** One line a record; the levels are those of the configuration. A secret is never given to it, and what looks like one is cut out. */
export type Logger = ReturnType<typeof loggerOf>

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

/** So many bytes wait for a place that takes nothing (a full disk); what comes then is lost. */
const WAITING_BYTES = 4 * 1_048_576

/** Where log lines go. When a destination fails, standard error says so once until it works again; the failure goes no further. */
const linesTo = (dest: string | number) => {
  const out = destination({ dest, sync: true, maxLength: WAITING_BYTES })
  let told = false
  out.on('write', () => {
    told = false
  })
  return out.on('error', (error: Error) => {
    if (told) return
    told = true
    try {
      writeSync(process.stderr.fd, `error: the log cannot be written: ${error.message}\n`)
    } catch {
      // There is nowhere left to report this.
    }
  })
}

/** The service's log, to standard output or the configured file, which is its owner's alone: it may hold the first token. */
export const loggerOf = ({ level: least, encoding, file }: Config['log'], { now }: Pick<Clock, 'now'>) => {
  if (file !== undefined) privateFile(file)
  const out = linesTo(file ?? process.stdout.fd)
  const options = {
    level: least.toLowerCase(),
    redact,
    base: null,
    formatters: { level: (_label: string, number: number) => ({ level: level(number) }) },
    timestamp: () => `,"time":"${now().toISOString()}"`,
  }
  return pino(options, encoding === 'console' ? consoleLines(out) : out)
}
