import type { Command } from 'commander'
import { segment } from '../client/client.ts'
import { embeddedConfig } from '../offline/store-config.ts'
import {
  type CommandServices,
  clientOf,
  type FileOptions,
  reasonHeaders,
  type TargetOptions,
  withConfig,
  withReason,
  withTarget,
} from '../options.ts'
import { confirm } from '../terminal/terminal.ts'

type DeleteOptions = TargetOptions &
  FileOptions & { readonly namespace: string; readonly yes?: boolean; readonly reason?: string }

/**
 * Deletes through the service, or with --data in the stored data, because the content of a flag may prevent the service
 * from starting.
 */
const remove = async (key: string, options: DeleteOptions, given: CommandServices): Promise<void> => {
  const { load, terminal } = given
  const { namespace, data, reason, yes = false } = options
  const path = `/api/v1/namespaces/${segment(namespace)}/flags/${segment(key)}`
  const headers = reasonHeaders(reason)
  const question = `Delete flag "${namespace}/${key}" with its variants, rules and rollouts?`
  if (data === undefined) {
    const { ask } = await clientOf(options, given)
    await ask('GET', path)
    await confirm(terminal, question, yes)
    await ask('DELETE', path, { headers })
  } else {
    const config = embeddedConfig(options, terminal)
    const { deleteFlagOffline } = await load(() => import('../../app/offline/offline.ts'))
    await confirm(terminal, question, yes)
    await deleteFlagOffline(config, { namespace, key, ...(reason === undefined ? {} : { reason }) }, terminal.info)
  }
  terminal.print(`${namespace}/${key} deleted\n`)
}

/** `rollcall flag delete`: deletes through the running service, or in the data of a stopped one. */
export const addFlagDelete = (flag: Command, given: CommandServices): void => {
  withReason(withConfig(withTarget(flag.command('delete <key>'), given), given))
    .summary('delete a flag with its variants, rules and rollouts')
    .description(
      'Deletes a flag through the running service, or, with --data, in the data directory of a stopped service.',
    )
    .option('-n, --namespace <key>', 'the namespace', 'default')
    .option('--data <dir>', 'data directory of a service that is not running')
    .option('-y, --yes', 'skip the confirmation')
    .action((key: string, options: DeleteOptions) => remove(key, options, given))
}
