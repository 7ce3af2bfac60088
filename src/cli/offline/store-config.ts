import type { Command } from 'commander'
import { fail } from '../../base/failure.ts'
import type { Config } from '../../config/load.ts'
import { type CommandServices, type FileOptions, withConfig } from '../options.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { dataConfig, embeddedConfig } from './embedded.ts'

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
