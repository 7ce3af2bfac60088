import type { Command } from 'commander'
import type { ProjectionStatus } from '../../app/offline/projections.ts'
import { EXIT, fail } from '../../base/failure.ts'
import { type CommandServices, type FileOptions, withConfig, withOutput } from '../options.ts'
import { abortOn } from '../signals.ts'
import { type Column, type OutputOptions, printMany } from '../terminal/output.ts'
import { progressBar } from '../terminal/progress.ts'
import { confirm } from '../terminal/terminal.ts'
import { dataConfig } from './store-config.ts'

const COLUMNS: readonly Column<ProjectionStatus>[] = [
  ['NAME', ({ name }) => name],
  ['VERSION', ({ version }) => String(version)],
  ['POSITION', ({ position }) => position],
  ['HEAD', ({ head }) => head],
  ['LAG', ({ lag }) => String(lag)],
]

type RebuildOptions = FileOptions & {
  readonly all?: boolean
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly progress: boolean
}

const rebuild = async (
  names: readonly string[],
  options: RebuildOptions,
  { load, clock, terminal, endWith }: CommandServices,
): Promise<void> => {
  const { info } = terminal
  const { all = false, yes = false, dryRun = false } = options
  if (all === names.length > 0)
    fail(
      'usage',
      all ? 'Give either names of read models or --all.' : 'Name the read models to rebuild, or use --all.',
      'List the read models with: rollcall projections status',
    )
  const config = dataConfig(options, terminal)
  const { projectionStatus, rebuildProjections } = await load(() => import('../../app/offline/projections.ts'))
  const known = await projectionStatus(config, clock, info)
  const unknown = names.filter((name) => !known.some((projection) => projection.name === name))
  if (unknown.length > 0)
    fail(
      'notFound',
      `There is no read model ${unknown.join(', ')}.`,
      `Known projections: ${known.map(({ name }) => name).join(', ')}`,
    )

  const chosen = known.filter(({ name }) => all || names.includes(name))
  const plan = chosen.map(({ name }) => name).join(', ')
  info(`${dryRun ? 'Would rebuild' : 'Rebuilding'} ${plan} from the log, up to position ${chosen[0]?.head ?? '0'}.`)
  if (dryRun) return
  await confirm(terminal, `Rebuild ${plan}?`, yes)

  const { signal, release } = abortOn('SIGINT')
  const { update, end } = progressBar(terminal, clock, options)
  try {
    const request = { names: chosen.map(({ name }) => name), progress: update, signal }
    await rebuildProjections(config, clock, request, info)
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    end()
    release()
  }
  if (signal.aborted) {
    info(
      `Stopped: unfinished read models are unchanged. To continue: rollcall projections rebuild ${all ? '--all' : names.join(' ')}`,
    )
    endWith(EXIT.interrupted)
  } else info('Done.')
}

/** `rollcall projections status|rebuild`: reads the data, or rebuilds read models while the service is stopped. */
export const addProjections = (program: Command, given: CommandServices): void => {
  const { load, clock, terminal } = given
  const projections = program
    .command('projections')
    .summary('show and rebuild the read models')
    .description(
      'Shows read models in the stores, also of a running service, and rebuilds them while the service is stopped.',
    )
  withOutput(withConfig(projections.command('status'), given), ['table', 'json', 'ndjson', 'name'])
    .summary('show the position of each read model')
    .option('--data <dir>', 'directory of the embedded store')
    .action(async (options: FileOptions & OutputOptions) => {
      const { projectionStatus } = await load(() => import('../../app/offline/projections.ts'))
      const all = await projectionStatus(dataConfig(options, terminal), clock, terminal.info)
      printMany(terminal, all, all, ({ name }) => name, COLUMNS, options)
    })
  withConfig(projections.command('rebuild [name...]'), given)
    .summary('rebuild read models from the log')
    .option('--all', 'every read model')
    .option('--data <dir>', 'directory of the embedded store')
    .option('--dry-run', 'print the plan without changing anything')
    .option('-y, --yes', 'skip the confirmation')
    .option('--no-progress', 'no progress bar')
    .action((names: readonly string[], options: RebuildOptions) => rebuild(names, options, given))
}
