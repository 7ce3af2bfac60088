import { fail } from '../../base/failure.ts'
import { type Config, loadConfig } from '../../config/load.ts'
import { type FileOptions, fileOf } from '../options.ts'
import { flagsOf } from '../serve.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Configuration of a command that works on the stored data. */
export const dataConfig = (options: FileOptions, { env }: Terminal): Config =>
  loadConfig({ ...fileOf(options), env, flags: flagsOf(options) }).config

/** Configuration of a command that works on the data of a stopped service. */
export const embeddedConfig = (options: FileOptions, terminal: Terminal): Config => {
  const config = dataConfig(options, terminal)
  return config.storage.type === 'embedded'
    ? config
    : fail('usage', '--data requires embedded storage, but storage.type is cluster.')
}
