import { type Config, loadConfig } from '../config/load.ts'
import { fail } from '../failure.ts'
import { type FileOptions, fileOf } from './options.ts'
import { flagsOf } from './serve.ts'
import type { Terminal } from './terminal/terminal.ts'

/** The configuration of a verb that works on the data itself. */
export const dataConfig = (options: FileOptions, { env }: Terminal): Config =>
  loadConfig({ ...fileOf(options), env, flags: flagsOf(options) }).config

/** The configuration of a verb that works on the data of a service that is down. */
export const embeddedConfig = (options: FileOptions, terminal: Terminal): Config => {
  const config = dataConfig(options, terminal)
  return config.storage.type === 'embedded'
    ? config
    : fail('usage', '--data is for embedded storage, and storage.type is cluster.')
}
