import type { Command } from 'commander'
import { fail } from '../../base/failure.ts'
import { type Config, loadConfig } from '../../config/load.ts'
import { type CommandServices, type FileOptions, fileOf, withConfig } from '../options.ts'
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

/** Options of a command that can read a store instead of a service. */
export type StoreOptions = FileOptions & { readonly store?: boolean }

/** Adds the options that name a store. */
export const withStore = (command: Command, given: CommandServices): Command =>
  withConfig(command, given)
    .option('--data <dir>', 'read this data directory instead of a service, also while a service uses it')
    .option('--store', 'read the servers of --config instead of a service')

/** Configuration of the store that the options name; undefined for a service. */
export const storeConfig = (options: StoreOptions, terminal: Terminal): Config | undefined => {
  if (options.data !== undefined && options.store) fail('usage', '--data and --store cannot be used together.')
  if (options.data !== undefined) return embeddedConfig(options, terminal)
  if (!options.store) return undefined
  const config = dataConfig(options, terminal)
  return config.storage.type === 'cluster'
    ? config
    : fail('usage', '--store requires storage.type cluster.', 'Use --data DIR for a data directory.')
}
