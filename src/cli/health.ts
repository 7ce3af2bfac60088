import { type IncomingMessage, request } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { Command } from 'commander'
import { fail } from '../base/failure.ts'
import { type Config, loadConfig } from '../config/load.ts'
import { type CommandServices, type FileOptions, fileOf, withConfig } from './options.ts'

const LIMIT_MS = 2_500
/** Addresses of this machine by the listen address that stands for all of them. */
const LOCAL: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** Status of `/livez` at the configured address of this machine. */
const statusOf = ({ server: { protocol, host, http_port, https_port } }: Config, signal: AbortSignal) =>
  new Promise<number>((done, failed) => {
    const answered = (answer: IncomingMessage): void => {
      answer.resume()
      done(answer.statusCode ?? 0)
    }
    const at = { host: LOCAL[host] ?? host, path: '/livez', agent: false, signal } as const
    const sent =
      protocol === 'https'
        ? // The certificate names the public host. The request has no credential, and only its status counts.
          secureRequest({ ...at, port: https_port, rejectUnauthorized: false }, answered)
        : request({ ...at, port: http_port }, answered)
    sent.once('error', failed).end()
  })

/** `rollcall health`: exit code 0 if a service with this configuration answers on this machine, else 1. */
export const addHealth = (program: Command, given: CommandServices): void => {
  withConfig(program.command('health'), given)
    .summary('check that the service of this configuration answers on this machine; exit code 1 if not')
    .action(async (options: FileOptions) => {
      const { config } = loadConfig({ ...fileOf(options), env: given.terminal.env })
      const status = await statusOf(config, given.clock.timeout(LIMIT_MS)).catch((error: unknown) =>
        fail('failed', `The service does not answer: ${(error as Error).message}`),
      )
      if (status !== 200) fail('failed', `The service answers with status ${status}.`)
    })
}
