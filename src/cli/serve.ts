import type { Command } from 'commander'
import { EXIT } from '../base/failure.ts'
import { loadConfig } from '../config/load.ts'
import { type CommandServices, type FileOptions, fileOf, reasonOf, withConfig } from './options.ts'
import { serviceSignals } from './signals.ts'

type ServeOptions = FileOptions & {
  readonly host?: string
  readonly port?: string
  readonly acceptLostKeys?: string
  readonly acceptDamagedLog?: string
}

/** Settings given by command-line flags, by key. */
export const flagsOf = ({
  host,
  port,
  data,
}: Pick<ServeOptions, 'host' | 'port' | 'data'>): Readonly<Record<string, string>> => ({
  ...(host === undefined ? {} : { 'server.host': host }),
  ...(port === undefined ? {} : { 'server.http_port': port, 'server.https_port': port }),
  ...(data === undefined ? {} : { 'storage.data_dir': data }),
})

/**
 * Ends the process immediately. `exit` waits for threads inside SQLite; SIGKILL does not wait, but has no effect on the
 * first process of a container.
 */
const cut = (): void => {
  process.kill(process.pid, 'SIGKILL')
  process.exit(EXIT.failed)
}

const aborted = (ending: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (ending.aborted) resolve()
    else ending.addEventListener('abort', () => resolve(), { once: true })
  })

/** `rollcall serve`: runs until SIGTERM, SIGINT or the end of its terminal, finishes running requests and exits with 0; with 1 after a fault. */
export const addServe = (program: Command, given: CommandServices): void => {
  withConfig(program.command('serve'), given)
    .summary('run the service')
    .description(
      'Runs the service in the foreground. Without a configuration, the service stores its data in a local directory and listens on port 8080.',
    )
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on')
    .option('--data <dir>', 'directory of the embedded store')
    .option('--accept-lost-keys <reason>', 'start although encryption keys are lost; the event log records the reason')
    .option(
      '--accept-damaged-log <reason>',
      'start although the event log is damaged; the event log records the reason',
    )
    .action(async ({ acceptLostKeys, acceptDamagedLog, ...options }: ServeOptions) => {
      const { ending, onLogFile } = serviceSignals()
      if (acceptLostKeys !== undefined) reasonOf(acceptLostKeys, '--accept-lost-keys')
      if (acceptDamagedLog !== undefined) reasonOf(acceptDamagedLog, '--accept-damaged-log')
      const { config, warnings, meant } = loadConfig({
        ...fileOf(options),
        env: given.terminal.env,
        flags: flagsOf(options),
      })
      const { start } = await given.load(() => import('../app/start.ts'))
      const fatal = () => process.exit(EXIT.failed)
      try {
        const accepting = { acceptLostKeys, acceptDamagedLog }
        const service = await start(config, { warnings, meant, ...accepting, ending, fatal, cut, onLogFile })
        await aborted(ending)
        await service.close()
        // A line that waits for a reader of standard error would keep the process alive.
        if (given.terminal.streams.stderr.writableLength > 0) process.exit(EXIT.ok)
      } catch (error) {
        if (!ending.aborted || error !== ending.reason) throw error
      }
    })
}
